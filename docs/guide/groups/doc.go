// Package groups is the programs of docs/guide/consumer-groups.md, each in a directory of its own, and the tests that hold the page to what is:
//
//  1. Each program stands in the page as it is in its file.
//  2. Each console block of the page is run, against a broker of its section's own, and shows what the page says.
//
// The tests build the programs and the ottla command once. Sections run side by side; they share nothing.
//
// Files: page_test.go (reading and running the page), owners_test.go (every partition has one owner), upgrade_test.go (a group changes over).
package groups
