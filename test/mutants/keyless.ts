import type { Mutant } from "./mutant.ts";

const OPEN = "src/transport/grpc/open-calls.ts";
const HELD = ["test/transport/grpc/held-calls.test.ts"];
const CONNECT = ["test/security/keyless-connect.test.ts"];
const SIGN_IN = "src/app/accounts/wallet-sign-in.ts";
const SIGN_INS = ["test/attacks/wallet-sign-in.test.ts"];

/** Bounds on callers without a key over gRPC, gRPC-Web and Connect. */
export const KEYLESS: readonly Mutant[] = [
  {
    name: "keyless-connect-plain",
    guard: "Compressed requests over Connect or gRPC-Web are refused.",
    file: "src/transport/connect/plain-message.ts",
    find: 'if (coding === null || coding === "identity") return;',
    replace: "if (coding !== undefined) return;",
    tests: CONNECT,
    only: "compressed message in a GET|sends uncompressed responses",
  },
  {
    name: "keyless-message",
    guard: "A method without a key accepts only small messages.",
    file: "src/transport/limits.ts",
    find: 'key === "required" ? bodyLimit : Math.min(bodyLimit, KEYLESS_MESSAGE_LIMIT)',
    replace: 'key === "required" ? bodyLimit : bodyLimit',
    tests: CONNECT,
    only: "a sign-in of a megabyte|sends uncompressed responses",
  },
  {
    name: "keyless-connect-query",
    guard: "A long message in a GET query is refused before it is decoded.",
    file: "src/transport/connect/plain-message.ts",
    find: ".length <= KEYLESS_MESSAGE_LIMIT) return;",
    replace: ".length <= Infinity) return;",
    tests: CONNECT,
    only: "long message in a GET|sends uncompressed responses",
  },
  {
    name: "keyless-grpc-plain",
    guard: "Compressed requests over gRPC are refused at their headers.",
    file: "src/transport/grpc/message-reader.ts",
    find: 'if (encoding === undefined || encoding === "identity") return;',
    replace: "if (encoding !== null) return;",
    tests: HELD,
    only: "rejects compressed calls|rejects a missing or bad key",
  },
  {
    name: "keyless-held-connection",
    guard: "One connection holds few calls without a key.",
    file: OPEN,
    find: "for (const open of excessCalls(held, { ...keyless, total: Infinity })) end(open);",
    replace: "void held;",
    tests: HELD,
    only: "ends the oldest calls|rejects a missing or bad key",
  },
  {
    name: "keyless-reflection-read",
    guard: "Reflection streams with unread answers are closed.",
    file: OPEN,
    find: 'markWaiting(open, "reader");',
    replace: 'if (!open.streaming) markWaiting(open, "reader");',
    tests: HELD,
    only: "responses are not read|rejects a missing or bad key",
  },
  {
    name: "keyless-held-in-all",
    guard: "All connections together hold few calls without a key.",
    file: OPEN,
    find: "this.#keyless.size <= total) return;",
    replace: "this.#keyless.size <= Infinity) return;",
    tests: HELD,
    only: "above the total limit|rejects a missing or bad key",
  },
  {
    name: "sign-in-once",
    guard: "A wallet's sign-in changes something once.",
    file: SIGN_IN,
    find: "if (!(await used.add(challenge.nonce, new Date(challenge.expirationTime))))",
    replace: "if (!(await used.add(challenge.nonce, new Date(challenge.expirationTime))) && uri === '')",
    tests: SIGN_INS,
    only: "spends once|reads its receipts",
  },
  {
    name: "sign-in-uri",
    guard: "A wallet's sign-in changes only what its URI names.",
    file: SIGN_IN,
    find: "if (uri !== expected)",
    replace: "if (uri === '')",
    tests: SIGN_INS,
    only: "spends on the tool|reads its receipts",
  },
  {
    name: "sign-in-expiry",
    guard: "A wallet's sign-in expires.",
    file: SIGN_IN,
    find: "if (isCurrentChallenge(challenge, clock)) return challenge;",
    replace: "if (isCurrentChallenge(challenge, { now: () => issuedAt })) return challenge;",
    tests: SIGN_INS,
    only: "expired or future|reads its receipts",
  },
  {
    name: "sign-in-signer",
    guard: "A wallet's sign-in is signed by that wallet.",
    file: SIGN_IN,
    find: 'if (!bytes || !isSignedBy(key, Buffer.from(text, "utf8"), bytes))',
    replace: "if (!bytes || text === '')",
    tests: SIGN_INS,
    only: "than it signs|reads its receipts",
  },
];
