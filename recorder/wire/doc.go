// Package wire is the local endpoint.
package wire
