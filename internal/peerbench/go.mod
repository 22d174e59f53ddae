module github.com/profguard/profguard/internal/peerbench

go 1.26.0

require github.com/profguard/profguard v0.0.0

require (
	github.com/grafana/pyroscope-go v1.4.3 // indirect
	github.com/grafana/pyroscope-go/godeltaprof v0.1.11 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
)

replace github.com/profguard/profguard => ../..
