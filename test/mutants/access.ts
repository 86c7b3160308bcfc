import { mutants, type Mutant, sqlFile, type Tests } from "./mutant.ts";

const KEY_CACHE = "test/postgres/accounts/key-cache.test.ts";
const WALLET_SIGN_IN = "test/attacks/wallet-sign-in.test.ts";
const MISROUTES = "test/cells/misroutes.test.ts";
const ACCOUNT_MOVES = "test/postgres/cells/account-moves.test.ts";
const LIMITED_KEYS = "test/postgres/accounts/limited-keys.test.ts";
const LISTS = "test/postgres/ledger/lists.test.ts";
const REFUSED: Tests = {
  files: ["test/contract/tool-call.test.ts"],
  only: "refuses a revoked key long before|report the block instead|reports a bad key before a bad body",
};
const WHOLE_KEYS: Tests = {
  files: [KEY_CACHE],
  only: "correctly signed but with another body|as its account",
};
const OPERATORS: Tests = {
  files: ["test/transport/services/operations/operators-log.test.ts"],
  only: "rejects an ordinary key|is for gRPC only",
};
const DEPOSITS: Tests = {
  files: ["test/crediting/deposits.test.ts"],
  only: "hides a deposit|returns the last known status, and a credit without the chain",
};
const SENDER: Tests = {
  files: ["test/outbound/webhook-sender.test.ts", "test/outbound/address-guard.test.ts"],
};
const SIGN_INS: Tests = {
  files: [WALLET_SIGN_IN],
  only: "spends once|spends on the tool|expired or future|than it signs|reads its receipts",
};
const SIGNED_KEYS: Tests = { files: [WALLET_SIGN_IN], only: "by their own wallet|need an account" };

/** Keys, sign-ins, and the data of other accounts and cells. */
export const ACCESS: readonly Mutant[] = [
  ...mutants("src/postgres/accounts/authenticator.ts", REFUSED, {
    "key-revoked": ["A revoked API key is rejected.", "and key.revoked_at is null", ""],
  }),
  ...mutants("src/postgres/accounts/authenticator.ts", MISROUTES, {
    "cell-key": [
      "A cell refuses API keys of other cells, also with the same secrets and rows.",
      'if (cell.isForeign("api_key", parsed.cell)) return undefined;',
      "",
    ],
  }),
  ...mutants("src/postgres/accounts/authenticator.ts", ACCOUNT_MOVES, {
    "cell-left": [
      "The cell that an account left refuses its keys.",
      "if (found.movedTo !== undefined) throw this.#moved(found.movedTo);",
      "",
    ],
  }),
  ...mutants("src/postgres/accounts/authenticator.ts", LIMITED_KEYS, {
    "key-expired": [
      "An expired API key is rejected, also where it is cached.",
      "expiresAt.getTime() <= now",
      "expiresAt.getTime() <= 0",
    ],
  }),
  ...mutants("src/postgres/accounts/key-rows.ts", WHOLE_KEYS, {
    "key-whole": [
      "An API key is identified by the hash of all its characters.",
      'hash("sha256", secret,',
      'hash("sha256", secret.slice(0, 20),',
    ],
  }),
  ...mutants(sqlFile("triggers/notify_key_change.sql"), KEY_CACHE, {
    "key-revocation-heard": [
      "A revoked API key is rejected also where it is cached.",
      "after insert or update on api_key",
      "after insert on api_key",
    ],
  }),
  ...mutants("src/transport/key-authenticator.ts", REFUSED, {
    "account-blocked": [
      "A blocked account's keys are rejected.",
      "if (caller.blockedReason !== undefined) throw",
      'if (caller.blockedReason === "") throw',
    ],
  }),
  ...mutants("src/transport/pipeline.ts", OPERATORS, {
    "operator-role": [
      "Operator services require the operator role.",
      "if (operator && !context.caller.operator)",
      "if (false)",
    ],
  }),
  ...mutants("src/transport/pipeline.ts", "test/contract/lists.test.ts", {
    "endpoint-scope": [
      "A key without a list's scope cannot read it.",
      "if (scope !== undefined && !context.caller.scopes.has(scope))",
      "if (false)",
    ],
  }),
  ...mutants("src/app/calls/call-tool.ts", "test/app/calls/run-and-capture.test.ts", {
    "tool-scope": [
      "A key without a tool's scope cannot call it.",
      "if (caller) requireToolAccess(tool, caller);",
      "",
    ],
  }),
  ...mutants("src/postgres/ledger/history.ts", LISTS, {
    "receipt-own": [
      "A receipt is visible to its account only.",
      "where id = $1 and account_id = $2",
      "where id = $1 and $2::uuid is not null",
    ],
  }),
  ...mutants("src/postgres/ledger/runs.ts", LISTS, {
    "run-own": [
      "A run is visible to its account only.",
      "where run.id = $1 and run.account_id = $2",
      "where run.id = $1 and $2::uuid is not null",
    ],
  }),
  ...mutants("src/postgres/deposits/deposits.ts", DEPOSITS, {
    "deposit-own": [
      "An account sees only its own deposits.",
      "where deposit.account_id = $1 and deposit.id = $2",
      "where ($1::uuid is not null) and deposit.id = $2",
    ],
  }),
  ...mutants("src/postgres/accounts/own-records.ts", "test/console-server/find-records.test.ts", {
    "find-own-run": [
      "A run is found by its own account only.",
      "const BY_RUN = `${RUN} where account_id = $1",
      "const BY_RUN = `${RUN} where $1::uuid is not null",
    ],
    "find-own-key": [
      "A key is found by its own account only.",
      "name as title, created_at from api_key where account_id = $1",
      "name as title, created_at from api_key where $1::uuid is not null",
    ],
  }),
  ...mutants("src/postgres/accounts/api-keys.ts", LIMITED_KEYS, {
    "key-own": [
      "An account replaces and revokes only its own keys.",
      'accountId !== undefined && idFromUuid("acct", row.account) !== accountId',
      'accountId === "" && idFromUuid("acct", row.account) !== accountId',
    ],
  }),
  ...mutants("src/postgres/operations/request-log.ts", "test/postgres/operations/request-log.test.ts", {
    "request-log-own": [
      "An account finds its own requests only.",
      "where request.account_id = $1 and request.expires_at > now()`",
      "where $1::uuid is not null and request.expires_at > now()`",
    ],
  }),
  ...mutants(
    "src/transport/services/calls/request-log-service.ts",
    "test/console-server/request-log.test.ts",
    {
      "request-log-operator": [
        "Operators see neither params nor results of requests.",
        "readId === caller.accountId && body &&",
        "body &&",
      ],
    },
  ),
  ...mutants("src/postgres/webhooks/webhook-endpoints.ts", "test/postgres/webhooks/delivery.test.ts", {
    "webhook-own": [
      "An account changes its own endpoints only.",
      "retry_at = case when $5 then now() else retry_at end where account_id = $1 and id = $2",
      "retry_at = case when $5 then now() else retry_at end where $1::uuid is not null and id = $2",
    ],
  }),
  ...mutants("src/postgres/webhooks/webhook-queue.ts", "test/postgres/webhooks/challenge.test.ts", {
    "webhook-challenge": [
      "A URL receives nothing but test events until it answers one.",
      "and (held.verified or event.type = '${TEST_EVENT}')",
      "and (true or event.type = '${TEST_EVENT}')",
    ],
    "webhook-former-url": [
      "An answer of a former URL does not verify the new one.",
      "and owner = $2 and url = $8",
      "and owner = $2 and $8::text is not null",
    ],
  }),
  ...mutants("src/app/webhooks/webhook-deliverer.ts", "test/postgres/webhooks/turns.test.ts", {
    "webhook-places": [
      "An account holds two places for its endpoints.",
      "mostPerAccount: PER_ACCOUNT, taken",
      "mostPerAccount: CONCURRENT_ENDPOINTS, taken",
    ],
  }),
  ...mutants("src/outbound/webhook-sender.ts", SENDER, {
    "webhook-address": [
      "A webhook reaches public addresses only.",
      "openGuardedFetch({ ...guard, maxBytes: 0 })",
      'openGuardedFetch({ ...guard, network: "any", maxBytes: 0 })',
    ],
  }),
  ...mutants("src/postgres/ledger/replay-cache.ts", "test/postgres/ledger/replay-cache.test.ts", {
    "remembered-account": [
      "The replay cache answers only the account that paid.",
      "${accountId} ${idempotencyKey}",
      "${idempotencyKey}",
    ],
  }),
  ...mutants("src/app/accounts/sign-in.ts", SIGN_INS, {
    "sign-in-once": [
      "A wallet's sign-in changes something once.",
      "if (!(await used.add(challenge.nonce, new Date(challenge.expirationTime))))",
      "if (!(await used.add(challenge.nonce, new Date(challenge.expirationTime))) && path === '')",
    ],
    "sign-in-uri": [
      "A wallet's sign-in reads and changes only what its URI names.",
      "if (uri !== url)",
      "if (uri === '')",
    ],
    "sign-in-method": [
      "A wallet's sign-in that reads changes nothing.",
      "if (method !== expected)",
      "if (method === '')",
    ],
    "sign-in-expiry": [
      "A wallet's sign-in expires.",
      "if (isCurrentChallenge(challenge, clock)) return challenge;",
      "if (isCurrentChallenge(challenge, { now: () => issuedAt })) return challenge;",
    ],
    "sign-in-signer": [
      "A wallet's sign-in is signed by that wallet.",
      'if (!bytes || !isSignedBy(key, Buffer.from(text, "utf8"), bytes))',
      "if (!bytes || text === '')",
    ],
  }),
  ...mutants("src/transport/services/accounts/wallet-key-service.ts", SIGNED_KEYS, {
    "sign-in-key-owner": [
      "A wallet revokes API keys of its own account only.",
      "keys.revoke(keyId, accountId)",
      'keys.revoke(keyId, accountId === "" ? accountId : undefined)',
    ],
  }),
  ...mutants("src/postgres/accounts/sessions.ts", MISROUTES, {
    "cell-session": [
      "A cell accepts no session of another cell.",
      'if (this.#cell.isForeign("session", Number(cell))) return undefined;',
      "",
    ],
  }),
  ...mutants(sqlFile("functions/account_arrive.sql"), ACCOUNT_MOVES, {
    "clearing-once": [
      "A move that is repeated is booked in once.",
      "where m.id = move and m.direction = 'in'",
      "where false",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_start.sql"), ACCOUNT_MOVES, {
    "move-freezes": [
      "An account that moves starts no call from its balance.",
      "where not frozen and (account",
      "where (account",
    ],
  }),
  ...mutants(sqlFile("functions/account_depart.sql"), ACCOUNT_MOVES, {
    "move-waits": [
      "A balance is booked out only when no call of its account is running.",
      "where r.account_id = account and r.status = 'active'",
      "where false",
    ],
  }),
  ...mutants("src/app/cells/account-moves.ts", ACCOUNT_MOVES, {
    "move-answers": [
      "A call that was answered before a move is not charged again after it.",
      "if (!departure.rest) await copyAnswers(deps, accountId, departure.contents, firstRun);",
      "",
    ],
  }),
  ...mutants("src/config/document.ts", "test/transport/services/operations/operations-service.test.ts", {
    "document-own-settings": [
      "A document cannot send a variable of the machine, such as the database's password, to a server.",
      "const problems = variableProblems(content, environment);",
      "const problems: string[] = [];",
    ],
  }),
  ...mutants("src/inference/upstream-models.ts", "test/inference/inline-images.test.ts", {
    "image-urls": [
      "A model server fetches no address of a caller.",
      "route.model.passesUrls",
      "route.model.id !== ''",
    ],
  }),
  ...mutants("src/gateway/config-admin.ts", "test/transport/services/operations/operations-service.test.ts", {
    "draft-reach": [
      "A draft that is tried reaches no private host that the version in force does not reach.",
      "if (refused !== undefined) throw",
      "if (refused === '') throw",
    ],
    "plan-reach": [
      "A plan reaches no private host that the version in force does not reach.",
      ".map((tool) => reach.narrowed(tool))",
      "",
    ],
  }),
];
