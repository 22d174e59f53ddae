//go:build !linux

package figures

// statmPath is empty: only Linux tells the resident size in a file.
const statmPath = ""
