// Command plain is the service with nothing else.
package main

import "github.com/profguard/profguard/internal/peerbench/memory/service"

func main() { service.Run(nil) }
