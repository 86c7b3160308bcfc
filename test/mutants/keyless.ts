import type { Mutant } from "./mutant.ts";

const OPEN = "src/transport/grpc/open-calls.ts";
const HELD = ["test/transport/grpc/held-calls.test.ts"];
const CONNECT = ["test/security/keyless-connect.test.ts"];

/** Bounds on callers without a key over gRPC, gRPC-Web and Connect. */
export const KEYLESS: readonly Mutant[] = [
  {
    name: "keyless-connect-plain",
    guard: "Compressed requests over Connect or gRPC-Web are refused.",
    file: "src/transport/connect/plain-message.ts",
    find: 'if (coding === null || coding === "identity") return;',
    replace: "if (coding !== undefined) return;",
    tests: CONNECT,
    only: "in a GET, which|compresses no answers",
  },
  {
    name: "keyless-message",
    guard: "A method without a key accepts only small messages.",
    file: "src/transport/message-limits.ts",
    find: 'key === "required" ? bodyLimit : Math.min(bodyLimit, KEYLESS_MESSAGE_LIMIT)',
    replace: 'key === "required" ? bodyLimit : bodyLimit',
    tests: CONNECT,
    only: "a sign-in of a megabyte|compresses no answers",
  },
  {
    name: "keyless-connect-query",
    guard: "A long message in a GET query is refused before it is decoded.",
    file: "src/transport/connect/plain-message.ts",
    find: ".length <= KEYLESS_MESSAGE_LIMIT) return;",
    replace: ".length <= Infinity) return;",
    tests: CONNECT,
    only: "long message in a GET|compresses no answers",
  },
  {
    name: "keyless-grpc-plain",
    guard: "Compressed requests over gRPC are refused at their headers.",
    file: "src/transport/grpc/call-authenticator.ts",
    find: 'if (encodingOf(call) === "identity") return;',
    replace: "if (encodingOf(call) !== undefined) return;",
    tests: HELD,
    only: "when they are compressed|refused at their head when they need",
  },
  {
    name: "keyless-held-connection",
    guard: "One connection holds few calls without a key.",
    file: OPEN,
    find: "for (const open of excessCalls(held, { ...keyless, total: Infinity })) end(open);",
    replace: "void held;",
    tests: HELD,
    only: "the oldest first|refused at their head when they need",
  },
  {
    name: "keyless-reflection-read",
    guard: "Reflection streams with unread answers are closed.",
    file: OPEN,
    find: 'markWaiting(open, "reader");',
    replace: 'if (!open.streaming) markWaiting(open, "reader");',
    tests: HELD,
    only: "reads the answers of reflection|refused at their head when they need",
  },
  {
    name: "keyless-held-in-all",
    guard: "All connections together hold few calls without a key.",
    file: OPEN,
    find: "this.#keyless.size <= total) return;",
    replace: "this.#keyless.size <= Infinity) return;",
    tests: HELD,
    only: "are ended in all|refused at their head when they need",
  },
];
