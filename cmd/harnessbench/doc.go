// Command harnessbench measures the harness around a language model: which of
// its guards earn their place, and whether a change broke the loop.
//
//  1. main hands the process's arguments and outputs to run, which is all that
//     tests need to call.
//  2. run builds the root command and executes it. Each command is one file in
//     this folder over the helpers in internal/cli.
//  3. The command's error becomes the exit code: 0 yes, 1 no, 2 usage or a wrong
//     input, 3 cannot judge, 4 too many trials errored, 130 interrupted.
package main
