// Package models reads the models file: which real models a suite may name, how
// they are reached, what they may be asked at a time and what they cost.
//
//  1. [Open] finds the file a command works with: the one it is told, that of the
//     environment, or [Default], which needs none and knows openai/NAME.
//  2. [Load] and [Parse] read it strictly: a mistake is one error with its place
//     and its remedy. A file holds names of keys and never a key; what looks like
//     one is refused without being repeated.
//  3. [File.Find] gives the [Entry] of a model, its provider merged in: what an
//     adapter and the limits of an account are made of.
//  4. [File.Prices] is the price table that costs are computed with.
//  5. A [File] goes through JSON and comes back equal, so that a run can keep
//     what it used. The JSON is itself a models file.
//
// The types are plain data; package provider of the program makes models of them.
package models
