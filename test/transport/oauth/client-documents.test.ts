import { createServer, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import tls from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isNativeRedirect, shownName } from "../../../src/domain/accounts/oauth-client.ts";
import { BrowserCookie } from "../../../src/transport/oauth/browser-cookie.ts";
import { documentReader } from "../../../src/transport/oauth/client-documents.ts";
import { useWorld } from "../../support/use-world.ts";
import { selfSigned } from "../../tools/custom/grpc/certificate.ts";
import { authorizeUrl, Browser, CALLBACK, redeem } from "./browser.ts";

const world = useWorld();
/** How the document's server answers, which tests change. */
let answer: (response: ServerResponse) => void;
let asked = 0;
const listener = (_request: unknown, response: ServerResponse) => {
  asked++;
  answer(response);
};
const plain = createServer(listener);
const { certificate, key } = selfSigned("localhost");
const secure = createTlsServer({ cert: certificate, key }, listener);
const trusted = tls.getCACertificates("default");

beforeAll(async () => {
  tls.setDefaultCACertificates([...trusted, certificate.toString()]);
  for (const server of [plain, secure]) await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  tls.setDefaultCACertificates(trusted);
  for (const server of [plain, secure]) {
    server.closeAllConnections();
    server.close();
  }
});

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const json = (document: object) => (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));

describe("the metadata document of a client", () => {
  const url = () => `http://127.0.0.1:${portOf(plain)}/client.json`;

  it("is not read from a private address, unless the gateway is at one", async () => {
    answer = json({ client_id: "x", redirect_uris: [CALLBACK] });
    const before = asked;
    await expect(documentReader("public")(url(), AbortSignal.timeout(5_000))).rejects.toThrow();
    expect(asked).toBe(before);
    await expect(documentReader("any")(url(), AbortSignal.timeout(5_000))).resolves.toBeDefined();
  });

  it.each([
    ["is large", json({ client_id: "x", redirect_uris: [CALLBACK], more: "x".repeat(40_000) })],
    ["never ends", (response: ServerResponse) => response.write("{")],
    ["is no JSON", (response: ServerResponse) => response.end("<html>")],
    ["redirects to http", json({ client_id: "x", redirect_uris: ["http://app.example/"] })],
  ])("is refused when it %s", async (_title, how) => {
    answer = how;
    await expect(documentReader("any")(url(), AbortSignal.timeout(500))).rejects.toThrow();
  });

  it("is not followed elsewhere", async () => {
    answer = (response) => response.writeHead(302, { location: "/other" }).end();
    expect((await documentReader("any")(url(), AbortSignal.timeout(5_000))).status).toBe(302);
  });

  it("names the client in the consent, by its host, as it was then", async () => {
    const { gateway } = world;
    const clientId = `https://localhost:${portOf(secure)}/client.json`;
    const document = { client_id: clientId, redirect_uris: [CALLBACK], client_name: "Good host" };
    answer = json(document);
    const host = { clientId, verifier: "v".repeat(43) };
    const browser = new Browser();
    const id = await browser.open(
      authorizeUrl(gateway, host, { redirect_uri: "http://127.0.0.1:9/callback" }),
    );
    answer = json({ ...document, client_name: "Your bank" });
    expect(await (await browser.consent(gateway, id)).json()).toMatchObject({
      client: { id: clientId, name: "Good host", host: `localhost:${portOf(secure)}`, verified: true },
    });
    const callback = await browser.approve(gateway, authorizeUrl(gateway, host));
    expect(await redeem(gateway, host, callback)).toMatchObject({ status: 200 });
  });

  it("has to name its own address", async () => {
    answer = json({ client_id: "https://bank.example/", redirect_uris: [CALLBACK], client_name: "Bank" });
    const host = { clientId: `https://localhost:${portOf(secure)}/other.json`, verifier: "v".repeat(43) };
    const refused = await new Browser().get(authorizeUrl(world.gateway, host));
    expect([refused.status, refused.headers.get("location")]).toEqual([400, null]);
  });
});

it.each([
  ["Claude", "Claude"],
  ["  a \u202E\u0000\n b ", "a b"],
  ["\u200B\uFEFF", "host.example"],
  [undefined, "host.example"],
  ["x".repeat(100), "x".repeat(60)],
  ["<script>alert(1)</script>", "<script>alert(1)</script>"],
])("shows the name %j as %j", (claimed, shown) => {
  expect(shownName(claimed, "host.example")).toBe(shown);
});

it.each([
  ["https://app.example/", false],
  ["http://localhost:1/", true],
  ["cursor://callback", true],
])("takes %s for an address on the person's device: %s", (text, native) => {
  expect(isNativeRedirect(text)).toBe(native);
});

describe("the cookie of a browser", () => {
  const cookie = new BrowserCookie("https://gateway.example");
  const ids = Array.from({ length: 6 }, (_, n) => String(n).repeat(43));

  it("keeps the last four requests", () => {
    const kept = ids.reduce<string>(
      (sent, id) => cookie.withOpened(sent, id, 600).split(";", 1)[0] ?? "",
      "",
    );
    expect(kept.startsWith("__Host-toolgate_connect=")).toBe(true);
    expect(ids.map((id) => cookie.holds(kept, id))).toEqual([false, false, true, true, true, true]);
  });

  it("counts for nothing when another host of the domain has set a second one", () => {
    const [id = ""] = ids;
    expect(cookie.holds(`__Host-toolgate_connect=${id}; __Host-toolgate_connect=x`, id)).toBe(false);
  });
});
