import { describe, expect, it } from "vitest";
import { OriginPolicy } from "../../src/transport/http/origin-policy.ts";

const PUBLIC = "https://gateway.example.com";
const LISTED = "https://app.example.com";

function answer(
  where: { host: string; publicUrl?: string },
  headers: { origin?: string; host?: string },
): string {
  const guard = new OriginPolicy({ host: where.host, publicUrl: where.publicUrl, origins: [LISTED] });
  try {
    guard.require({ headers });
    // The second call uses the cached Host.
    guard.require({ headers: { ...headers, origin: LISTED } });
    return "let in";
  } catch (error) {
    return String(error).replace(/^ToolgateError: (\w+):.*/, "$1 refused");
  }
}

describe("a public gateway", () => {
  const where = { host: "0.0.0.0", publicUrl: `${PUBLIC}/base` };

  it("accepts any Host on a public gateway", () => {
    expect(answer(where, { host: "anything.example.com:81" })).toBe("let in");
  });

  it("accepts its own and listed origins only", () => {
    expect(answer(where, { origin: PUBLIC, host: "x" })).toBe("let in");
    expect(answer(where, { origin: LISTED, host: "x" })).toBe("let in");
    for (const origin of [
      "http://localhost",
      "http://gateway.example.com",
      `${PUBLIC}:8443`,
      "https://example.com",
      "null",
    ])
      expect(answer(where, { origin, host: "x" })).toBe("Origin refused");
  });
});

it.each(["0.0.0.0", "127.0.0.1"])("a gateway on %s accepts any origin by its public name alone", (host) => {
  const where = { host, publicUrl: PUBLIC };
  for (const origin of ["https://inspector.example", "http://localhost:6274", "null"])
    expect(answer(where, { origin, host: "Gateway.Example.com:443" })).toBe("let in");
  // A page that rebinds its name to this machine sends that name.
  for (const name of ["inspector.example", "gateway.example.com.evil.com", "10.0.0.7", undefined])
    expect(answer(where, { origin: "https://inspector.example", ...(name && { host: name }) })).toBe(
      "Origin refused",
    );
  const local = { origin: "https://inspector.example", host: "localhost" };
  expect(answer({ host, publicUrl: "http://localhost:8080" }, local)).toBe("Origin refused");
});

describe.each(["127.0.0.1", "127.1.2.3", "localhost", "::1"])("a gateway on %s", (host) => {
  it("accepts loopback names and the public name", () => {
    const where = { host, publicUrl: PUBLIC };
    for (const name of [
      "localhost:1",
      "127.0.0.1",
      "[::1]:2",
      "gateway.example.com",
      "Gateway.Example.COM:443",
    ])
      expect(answer(where, { host: name })).toBe("let in");
    for (const name of ["example.com", "evil.com:80", "gateway.example.com.evil.com", "::1", ""])
      expect(answer(where, { host: name })).toBe("Host refused");
    expect(answer({ host }, { host: "gateway.example.com" })).toBe("Host refused");
  });

  it("accepts loopback origins", () => {
    expect(answer({ host }, { origin: "http://localhost:3000", host: "localhost" })).toBe("let in");
    expect(answer({ host }, { origin: PUBLIC, host: "localhost" })).toBe("Origin refused");
  });
});
