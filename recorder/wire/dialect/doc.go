// Package dialect is part of the wire endpoint.
package dialect
