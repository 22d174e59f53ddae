package work

// This file has what tests need beyond the face of the package.

const (
	Label        = label
	WorkPackage  = workPackage
	CheckPackage = checkPackage
)

var (
	RootOf = rootOf
	WorkOf = workOf
)
