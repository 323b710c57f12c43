// Package prompt keeps account of what a conversation takes of a model's context
// window, and plans what to take away when it takes too much.
//
//  1. A [Book] has an [Entry] for each part of the conversation, in wire order, in
//     four layers by stability: tool specs and system prompt; the task; documents
//     (results that can be fetched again); everything else that was said. A part
//     is counted once, when it is added, so a turn costs what is new in it.
//  2. An [Estimator] makes tokens of bytes. What a provider reports of a request
//     calibrates it; a provider that reports nothing leaves it as it is.
//  3. [Make] plans: a pure function over sizes, roles and rounds. It shrinks old
//     results, then drops old documents, then takes away the oldest rounds, for
//     which a summary or a line that says so will stand. The first two layers and
//     pinned parts are never touched, a call never loses its result, the latest
//     rounds stay whole where they fit, and the last one always stays.
//  4. [Book.Apply] performs a plan on the parts and gives the new conversation,
//     or, without parts, keeps the account as if it had.
//  5. [Instruction] asks a model for the summary; [Note] makes the message that
//     stands for what was taken away.
//
// Nothing here calls a model or knows a guard: package loop does, as the guards
// compaction and context_overflow say.
package prompt
