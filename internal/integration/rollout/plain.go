//go:build plain

package main

// watch does nothing in a program that imports nothing of profguard.
func watch() {}
