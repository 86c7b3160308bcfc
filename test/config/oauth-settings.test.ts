import { expect, it } from "vitest";
import { collectSecrets, readConfig, redactedConfig } from "../../src/config/config.ts";

const account = "acct_01890a5dac96774bbcceb302099a8057";
const issuer = "https://login.example.com";
const secret = "a secret that is longer than 32 characters";
const jwk = { kty: "EC", crv: "P-256", x: "x", y: "y" };

it.each<[name: string, list: unknown, says: string]>([
  ["OAUTH_ISSUERS", { issuer }, "OAUTH_ISSUERS: must be a JSON list"],
  ["OAUTH_ISSUERS", [{ issuer }], "OAUTH_ISSUERS.0: set account, or accounts"],
  ["OAUTH_ISSUERS", [{ issuer, account, accounts: { a: account } }], "OAUTH_ISSUERS.0: set account"],
  ["OAUTH_ISSUERS", [{ issuer: "http://login.example.com", account }], "must be an https:// address"],
  ["OAUTH_ISSUERS", [{ issuer: `${issuer}?tenant=1`, account }], "must be an https:// address"],
  ["OAUTH_ISSUERS", [{ issuer, account: "me" }], "OAUTH_ISSUERS.0.account: must be an account"],
  ["OAUTH_ISSUERS", [{ issuer, account, scopes: ["admin"] }], "OAUTH_ISSUERS.0.scopes.0:"],
  ["OAUTH_ISSUERS", [{ issuer, account, algorithms: ["HS256"] }], "Unrecognized key"],
  [
    "OAUTH_ISSUERS",
    [
      { issuer, account },
      { issuer, account },
    ],
    "OAUTH_ISSUERS: names one twice",
  ],
  ["OAUTH_CLIENTS", [{ client_id: "bot" }], "set client_secret or jwks"],
  ["OAUTH_CLIENTS", [{ client_id: "bot", client_secret: "short" }], "at least 32 characters"],
  [
    "OAUTH_CLIENTS",
    [{ client_id: "https://bot.example", client_secret: secret }],
    "OAUTH_CLIENTS.0.client_id",
  ],
  ["OAUTH_CLIENTS", [{ client_id: "bot", jwks: { keys: [{ ...jwk, d: "d" }] } }], "must be a public key"],
  ["OAUTH_CLIENTS", [{ client_id: "bot", jwks: { keys: [{ kty: "oct", k: "k" }] } }], "kty"],
])("%s refuses %j", (name, list, says) => {
  expect(() => readConfig({ [name]: JSON.stringify(list) })).toThrow(says);
});

it("reads issuers and clients, whose secrets are not logged", () => {
  const config = readConfig({
    OAUTH_ISSUERS: JSON.stringify([{ issuer, accounts: { red: account }, claim: "team", clients: ["app"] }]),
    OAUTH_CLIENTS: JSON.stringify([{ client_id: "bot", client_secret: secret, account }]),
  });
  expect(config.OAUTH_ISSUERS).toMatchObject([
    { issuer, account: { claim: "team", accounts: new Map([["red", account]]) }, firstUse: true },
  ]);
  expect(config.OAUTH_CLIENTS).toMatchObject([{ clientId: "bot", account, credential: { secret } }]);
  expect(collectSecrets(config)).toContain(secret);
  expect(redactedConfig(config)).toMatchObject({
    OAUTH_ISSUERS: expect.stringContaining(issuer),
    OAUTH_CLIENTS: "***",
  });
});
