module github.com/profguard/profguard/analyzer

go 1.26.0

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/profguard/profguard v0.0.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/profguard/profguard => ..
