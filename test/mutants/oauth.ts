import { mutants, type Mutant, sqlFile, type Tests } from "./mutant.ts";

const ATTACKS = "test/transport/oauth/attacks.test.ts";
const APPROVALS = "test/postgres/oauth/approvals.test.ts";
const DOCUMENTS = "test/transport/oauth/client-documents.test.ts";
const OUTSIDE = "test/transport/oauth/outside-tokens.test.ts";
const ISSUER_KEYS = "test/transport/oauth/issuer-keys.test.ts";
const TRUSTED = "test/transport/oauth/trusted-grants.test.ts";

const SIGN_IN = "test/client/sign-in.test.ts";
const PROOFS: Tests = {
  files: ["test/interop/oauth-clients.test.ts"],
  only: "binds its tokens|signs in and refreshes",
};

const attacks = (only: string): Tests => ({ files: [ATTACKS], only });

/** Sign-in from hosts. */
export const OAUTH: readonly Mutant[] = [
  ...mutants("src/client/node/sign-in/loopback.ts", SIGN_IN, {
    "sign-in-state": [
      "The client takes no answer that it did not ask for.",
      '|| searchParams.get("state") !== expected.state',
      "",
    ],
    "sign-in-issuer": [
      "The client takes no answer of another authorization server.",
      'if (answer.get("iss") !== issuer)',
      'if (issuer === "")',
    ],
  }),
  ...mutants("src/client/node/sign-in/session.ts", SIGN_IN, {
    "sign-in-origin": [
      "The client sends its token to no other server.",
      "if (new URL(url).origin !== gateway)",
      'if (gateway === "")',
    ],
    "sign-in-refresh": [
      "Processes refresh a sign-in one after the other, and once.",
      "if (isFresh(current)) return current;",
      "",
    ],
  }),
  ...mutants("src/client/node/private-files.ts", SIGN_IN, {
    "sign-in-private": ["Only its owner can read a stored sign-in.", '"wx", 0o600', '"wx", 0o644'],
  }),
  ...mutants("src/postgres/oauth/oauth-records.ts", attacks("after the grace|answer was lost"), {
    "oauth-refresh-grace": [
      "A refresh token that was used longer ago ends its grant.",
      "record.consumed_at > now() - interval '10 seconds'",
      "record.consumed_at > now() - interval '10 hours'",
    ],
  }),
  ...mutants("src/postgres/oauth/oauth-records.ts", attacks("after the grace|answer was lost"), {
    "oauth-refresh-older": [
      "A refresh token older than the last one ends its grant.",
      "and later.consumed_at is not null",
      "and false",
    ],
  }),
  ...mutants("src/transport/http/origin-policy.ts", "test/transport/origin-policy.test.ts", {
    "origin-host": ["A page that rebinds its own name cannot call.", "&& nameOf(host) === name", ""],
  }),
  ...mutants("src/transport/oauth/provider.ts", attacks("refused at the host|was refused"), {
    "oauth-pkce": [
      "An authorization request has a code challenge.",
      "pkce: { required: () => true }",
      "pkce: { required: () => false }",
    ],
  }),
  ...mutants("src/transport/console-server/console-origin.ts", attacks("console's page|was refused"), {
    "oauth-consent-origin": [
      "Only a page of the console can consent.",
      "if (origin === undefined ? !reads : origin !== this.url.origin)",
      'if (origin === "")',
    ],
    "oauth-consent-site": [
      "No page of another site can consent.",
      'if (site !== undefined && site !== "same-origin" && !(reads && site === "none"))',
      'if (site === "")',
    ],
  }),
  ...mutants("src/transport/oauth/possession-proofs.ts", PROOFS, {
    "dpop-key": [
      "A bound token is refused with the proof of another key.",
      "if (thumbprintOf(read.data.jwk) !== boundTo)",
      "if (false)",
    ],
    "dpop-replay": ["A proof of possession works once.", "this.#used.set(name, now);", ""],
    "dpop-signature": [
      "A proof of possession is signed.",
      "if (!isSigned(read.data, `${head}.${body}`, signature))",
      "if (false)",
    ],
  }),
  ...mutants(sqlFile("triggers/notify_key_change.sql"), attacks("within a second after|has expired"), {
    "oauth-revoked": [
      "A revoked grant is refused by every instance within a second.",
      "after insert or update on api_key",
      "after insert on api_key",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_grant.sql"), attacks("never spends|has expired"), {
    "oauth-budget": [
      "A grant spends no more than its budget, over all instances.",
      "if refusal is not null then",
      "if false then",
    ],
  }),
  ...mutants(
    "src/postgres/oauth/oauth-records.ts",
    attacks("two instances get at once is used|other client"),
    {
      "oauth-used-once": [
        "A code is used once, over all instances.",
        "where id = $1 and model = $2 and ${UNUSED}",
        "where id = $1 and model = $2",
      ],
    },
  ),
  ...mutants("src/postgres/oauth/oauth-records.ts", attacks("bounded in rows|was refused"), {
    "oauth-unused-rows": [
      "What strangers store before a consent is bounded.",
      "order by created_at desc offset $2)",
      "order by created_at desc offset $2 + 100000)",
    ],
  }),
  ...mutants(sqlFile("functions/oauth_answer.sql"), attacks("makes one key|was refused"), {
    "oauth-consent-once": [
      "A consent makes one key, over all instances.",
      "and r.model = 'Interaction' and r.consumed_at is null",
      "and r.model = 'Interaction'",
    ],
  }),
  ...mutants("src/transport/oauth/oauth-handler.ts", attacks("to another browser|was refused"), {
    "oauth-browser": [
      "Only the browser that opened a request can consent to it.",
      "if (!cookie().holds(request.headers.cookie, id))",
      'if (id === "")',
    ],
  }),
  ...mutants("src/transport/oauth/consent.ts", attacks("names the field|was refused"), {
    "oauth-requested-scopes": [
      "A consent gives no scope that was not requested.",
      "if (!scopes.includes(scope))",
      'if (scope === "")',
    ],
  }),
  ...mutants("src/transport/oauth/provider.ts", attacks("refused at the host|was refused"), {
    "oauth-resource": [
      "Tokens are issued for this gateway only.",
      "if (!resourcesOf(addresses).includes(",
      "if (![...resourcesOf(addresses), resource].includes(",
    ],
  }),
  ...mutants("src/postgres/accounts/authenticator.ts", attacks("has expired|within a second after"), {
    "oauth-expired": [
      "An expired access token is rejected.",
      "if (token.expiresAt <= now) return undefined;",
      "",
    ],
  }),
  ...mutants("src/domain/accounts/caller.ts", attacks("operator role|without a scope"), {
    "oauth-operator": [
      "An access token never has the operator role.",
      "operator: false, viaOAuth: true",
      "viaOAuth: true",
    ],
  }),
  ...mutants("src/domain/accounts/oauth-client.ts", attacks("at the registration|on loopback"), {
    "oauth-redirects": [
      "Codes go to https, this machine or an application's own scheme.",
      "return LOOPBACK.test(url.hostname) ? undefined :",
      'return LOOPBACK.test(url.hostname) || url.hostname !== "" ? undefined :',
    ],
  }),
  ...mutants(sqlFile("functions/approval_take.sql"), APPROVALS, {
    "approval-once": [
      "A call that was allowed beyond a limit runs once, over all instances.",
      "delete from oauth_record where id = approval_of(",
      "perform from oauth_record where id = approval_of(",
    ],
  }),
  ...mutants(sqlFile("functions/approval_of.sql"), APPROVALS, {
    "approval-price": [
      "It costs at most what the person saw.",
      "and (payload ->> 'price')::bigint >= price",
      "",
    ],
  }),
  ...mutants(sqlFile("functions/approval_decide.sql"), APPROVALS, {
    "approval-account": ["Only the account that pays allows it.", "and key.account_id = of_account", ""],
  }),
  ...mutants("src/transport/oauth/client-documents.ts", DOCUMENTS, {
    "oauth-document-network": [
      "Metadata documents are not read from private addresses.",
      "open({ network, maxBytes: MAX_BYTES })",
      'open({ network: "any", maxBytes: MAX_BYTES })',
    ],
    "oauth-document-size": [
      "Metadata documents are small.",
      "open({ network, maxBytes: MAX_BYTES })",
      "open({ network, maxBytes: MAX_BYTES * 1000 })",
    ],
  }),
  ...mutants(
    "src/transport/oauth/issuer-tokens.ts",
    { files: [OUTSIDE], only: "another audience|has expired" },
    {
      "oauth-issuer-audience": [
        "A trusted issuer's tokens for other services are refused.",
        "audience: [...wanted.audiences(issuer)],",
        "",
      ],
    },
  ),
  ...mutants("src/transport/oauth/issuer-keys.ts", ISSUER_KEYS, {
    "oauth-issuer-fetches": [
      "Tokens of strangers do not make the gateway read an issuer's keys again and again.",
      "if (!this.#reading && now - this.#triedAt < COOLDOWN_MS) return;",
      "",
    ],
  }),
  ...mutants(
    "src/transport/oauth/trusted-grants.ts",
    { files: [TRUSTED], only: "is used once|another client" },
    {
      "oauth-assertion-once": [
        "An assertion gives one token, over all instances.",
        'if (!(await records.consume("ReplayDetection", id)))',
        'if (id === "")',
      ],
    },
  ),
];
