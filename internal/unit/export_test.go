package unit

// This file has what tests need beyond the face of the package.

// Units are all units, Spellings what is accepted and printed as the name, and Mistaken what is written in its place.
var Units = units

func (u Unit) Spellings() []string { return u.spellings }

func (u Unit) Mistaken() string { return u.mistaken }
