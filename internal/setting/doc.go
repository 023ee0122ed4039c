// Package setting is what DescribeConfigs shows of a setting, and the settings of groups and client metrics subscriptions. Those of
// topics and brokers are the table in package config, which handlers do not see.
//
// Invariants:
//
//  1. Lists of entries are ordered by name, and no name stands twice.
//  2. An entry's first synonym is what gives its value; one without synonyms has a default that is nobody else's.
//  3. Values of lists, booleans and numbers have one spelling ([Plain]).
//  4. Errors wrap a *kerr.Error and name the setting, the value and what is expected.
//
// Concurrency: nothing here changes; all of it may be used by any number of goroutines.
//
// Files in reading order: entry.go, group.go, client_metrics.go, known.go.
package setting
