// Package canon makes requests on the wire comparable: canon/1 for the three APIs.
//
//  1. [Parse] decodes a body: JSON with each name once in its object, within the
//     bounds of package dialect. Numbers keep their lexemes, so 1.0 is not 1.
//  2. Secrets are overwritten in every text before anything is hashed
//     (Options.Redact), and credentials for other servers that tools carry.
//  3. What a provider does not answer by is dropped: user, safety_identifier,
//     prompt_cache_key, stream, stream_options, metadata.user_id and metadata of
//     our own (harnessbench_*) with the metadata that became empty by this;
//     cache_control anywhere but in schemas and arguments, where it is a user's
//     word. Nothing else: null is not absent, and unknown members count.
//  4. The body falls into parts (tools, system, messages, each the API's own JSON
//     with sorted names and minimal escapes) and params, which is all the rest. A
//     text that stands for a list of blocks is the one block it means. System and
//     developer messages before all others are system parts.
//  5. Ids of calls and items get names by first appearance (#1, #2, ...), at the
//     places where the API has ids and nowhere else. As a later request of a
//     conversation begins with the same items, names of earlier items stay.
//     Signatures and encrypted content are kept as they are. An item_reference is
//     kept with the name of the item it refers to, and one to an item that only
//     the provider keeps, as audio of an earlier answer, with its id.
//  6. previous_response_id becomes the items behind it (Options.Parent, kept by a
//     [Lineage] from what [Output] reads of answers), so the chain is that of a
//     client which sends everything each time. Ids of conversations, files,
//     containers and stored prompts stay: a replay hands out the recorded ones, and
//     what lies behind them is the provider's.
//  7. Declared normalisers sort results, drop members and replace volatile texts of
//     parts, in this order; see [Normalisers], and [Presets] for those that an agent's requests need. Raw
//     remembers how the request compared without them, and Applied what they did.
//  8. Chains and digests follow as for the loop's own requests (package model).
//     [Diff] and [DiffJSON] find the first place where two parts, or params, differ.
package canon
