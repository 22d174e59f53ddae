package unit

// This file has what tests need beyond the face of the package.

// Units are all units, and Spellings what is accepted and printed as the name.
var Units = units

func (u Unit) Spellings() []string { return u.spellings }
