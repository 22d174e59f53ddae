package figures

// statmPath leads to the process that opens it, for as long as it is open.
const statmPath = "/proc/self/statm"
