import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { OutsideGrants } from "../../../src/app/oauth/outside-grants.ts";
import { DEFAULT_SCOPES } from "../../../src/domain/accounts/scope.ts";
import type { TrustedIssuer } from "../../../src/domain/accounts/outside-identity.ts";
import { IssuerTokens } from "../../../src/transport/oauth/issuer-tokens.ts";
import { OutsideTokens } from "../../../src/transport/oauth/outside-tokens.ts";
import { ClientAddresses } from "../../../src/transport/remote-address.ts";
import { UnpaidTime } from "../../../src/transport/unpaid-time.ts";
import { systemClock } from "../../../src/system.ts";
import { type Idp, startIdp } from "./idp.ts";

let idp: Idp;
/** Passes on what the provider says, unless a test changes it. */
let answer: ((path: string, response: ServerResponse) => void) | undefined;
let asked: string[] = [];
const server = createServer((request, response) => void answered(request.url ?? "/", response));
async function answered(url: string, response: ServerResponse): Promise<void> {
  asked.push(url);
  if (answer) return answer(url, response);
  const passed = await fetch(idp.issuer + url);
  const text = (await passed.text()).replaceAll(idp.issuer, addressOf());
  response.writeHead(passed.status, { "content-type": "application/json" }).end(text);
}
const addressOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeAll(async () => {
  idp = await startIdp();
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterEach(() => {
  [answer, asked] = [undefined, []];
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await idp.close();
});

function tokensOf(issuer = addressOf()) {
  const trusted: TrustedIssuer = {
    issuer,
    audiences: undefined,
    clients: undefined,
    account: "acct_",
    firstUse: true,
    terms: { scopes: DEFAULT_SCOPES, limits: undefined, groupId: undefined },
  };
  const time = { now: Date.now() };
  const problems: string[] = [];
  const log = { warn: (fields: object) => void problems.push(Object.values(fields).map(textOf).join()) };
  const tokens = new IssuerTokens([trusted], { clock: { now: () => time.now }, log });
  const wanted = { types: ["at+jwt"], audiences: () => ["here"] };
  const verify = async (signing = {}) => {
    const token = await idp.sign({ iss: issuer, aud: "here", exp: time.now / 1000 + 300 }, signing);
    return tokens.verify(token, wanted, () => {});
  };
  return { tokens, verify, time, problems };
}

const fail = () => {
  throw new Error("not expected");
};
/** Forged tokens get no grant. */
const unused = { keys: { callerOf: fail }, apiKeys: { grant: fail }, rules: fail, resource: fail };

function textOf(value: unknown): string {
  return value instanceof Error ? `${value} ${textOf(value.cause)}` : String(value);
}

const json = (content: object) => (response: ServerResponse) => void response.end(JSON.stringify(content));
const unavailable = expect.objectContaining({ code: "UNAVAILABLE" });

describe("the keys of an issuer", () => {
  it("are read once for all tokens, and again for a new key after half a minute", async () => {
    const { verify, time } = tokensOf();
    await Promise.all(Array.from({ length: 10 }, () => verify()));
    expect(asked).toEqual(["/.well-known/openid-configuration", "/jwks"]);
    const unknown = { header: { kid: "key-2" } };
    await expect(verify(unknown)).rejects.toThrow("not signed");
    expect(asked).toHaveLength(2);
    time.now += 31_000;
    await Promise.all(
      Array.from({ length: 10 }, () => expect(verify(unknown)).rejects.toThrow("not signed")),
    );
    expect(asked).toHaveLength(4);
  });

  it("are used for an hour while they cannot be read", async () => {
    const { verify, time } = tokensOf();
    await verify();
    answer = (_path, response) => response.writeHead(500).end();
    time.now += 3_500_000;
    await verify();
    time.now += 101_000;
    await expect(verify()).rejects.toThrow(unavailable);
    answer = undefined;
    await expect(verify()).rejects.toThrow(unavailable);
    time.now += 31_000;
    await verify();
  });

  it("are not read for a sender whose forged tokens took its time", async () => {
    const { tokens } = tokensOf();
    const time = new UnpaidTime({ clock: { now: () => 0 }, cpuMs: () => 0, clients: new ClientAddresses(0) });
    const outside = new OutsideTokens({
      tokens,
      grants: new OutsideGrants({ ...unused, clock: systemClock }),
      time,
      clock: systemClock,
      resources: () => ["here"],
    });
    const forged = await idp.sign({ iss: addressOf(), aud: "here" }, { header: { kid: "forged" } });
    const send = (peer: string) => {
      const credentials = { authorization: undefined, peer, forwardedFor: undefined };
      return Promise.resolve(outside.authenticate(forged, credentials)).catch((error: unknown) => error);
    };
    const errors: unknown[] = [];
    for (let n = 0; n < 260; n++) errors.push(await send("192.0.2.1"));
    const limited = expect.objectContaining({ code: "RATE_LIMITED" });
    expect(errors.slice(0, 250)).toEqual(
      Array.from({ length: 250 }, () => expect.objectContaining({ code: "UNAUTHORIZED" })),
    );
    expect(errors.slice(250)).toEqual(Array.from({ length: 10 }, () => limited));
    expect(await send("192.0.2.2")).toMatchObject({ code: "UNAUTHORIZED" });
    expect(asked).toHaveLength(2);
  });

  it.each<[title: string, keys: (response: ServerResponse) => void, says: string]>([
    ["are large", json({ keys: [], more: "x".repeat(300_000) }), "longer than"],
    ["never end", (response) => response.write("{"), "timeout"],
    ["are elsewhere", (response) => response.writeHead(302, { location: idp.issuer }).end(), "302"],
    ["are no list", json({ keys: "none" }), "keys"],
  ])("that %s are not used", async (_title, keys, says) => {
    const { verify, problems } = tokensOf();
    answer = (path, response) =>
      path === "/jwks"
        ? keys(response)
        : json({ issuer: addressOf(), jwks_uri: `${addressOf()}/jwks` })(response);
    await expect(verify()).rejects.toThrow(unavailable);
    expect(problems).toEqual([expect.stringContaining(says)]);
  });

  it.each([
    ["a private address", { jwks_uri: "http://10.0.0.1/jwks" }, "is not https"],
    ["another issuer's metadata", { issuer: "https://evil.example" }, "another issuer"],
  ])("of %s are not read", async (_title, changed, says) => {
    const { verify, problems } = tokensOf();
    const found = { issuer: addressOf(), jwks_uri: `${addressOf()}/jwks`, ...changed };
    answer = (_path, response) => json(found)(response);
    await expect(verify()).rejects.toThrow(unavailable);
    expect(problems).toEqual([expect.stringContaining(says)]);
  });

  it("are not read at a private address", async () => {
    const { verify, problems } = tokensOf("https://10.0.0.1:8443");
    await expect(verify()).rejects.toThrow(unavailable);
    expect(problems).toEqual([expect.stringContaining("forbidden address")]);
  });
});
