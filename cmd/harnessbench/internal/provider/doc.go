// Package provider makes models of a models file: entry -> adapter -> account.
//
//  1. [New] takes a file and the environment. Nothing is connected and no key is
//     looked at yet: a file may list providers that this run does not use.
//  2. [Provider.Check] says before anything starts whether the models of a run
//     are known and their keys and header variables are set.
//  3. [Provider.Model] gives the model of one trial: limit(adapter). Trials share
//     one account per provider, one adapter per model and one HTTP transport.
//  4. [Provider.Secrets] lists what must reach no artefact; [Provider.Accounts]
//     says how the accounts stand.
package provider
