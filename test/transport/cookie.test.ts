import { describe, expect, it } from "vitest";
import { cookieFormOf, tokenFromCookie } from "../../src/transport/console-server/cookie.ts";

const form = cookieFormOf(new URL("https://gateway.example/console"));
const [OWN, OTHER] = ["o".repeat(43), "x".repeat(43)];

/** Returns the token of a Cookie header, which Node reads as Latin-1. */
const found = (cookie: string) =>
  form && tokenFromCookie(Buffer.from(cookie, "latin1").toString("latin1"), form);

describe("the session's cookie", () => {
  it("finds the session cookie among others", () => {
    for (const cookie of [
      `__Host-toolgate_session=${OWN}`,
      `a=1; __Host-toolgate_session=${OWN}; b=2`,
      `a=1;\t__Host-toolgate_session=${OWN} `,
      `a=1;__Host-toolgate_session=${OWN};`,
    ])
      expect(found(cookie), JSON.stringify(cookie)).toBe(OWN);
  });

  it("finds the session cookie of a cell, and no other text with a dot", () => {
    for (const cell of ["1", "65535"])
      expect(found(`__Host-toolgate_session=${cell}.${OWN}`)).toBe(`${cell}.${OWN}`);
    for (const other of ["0.", "01.", "123456.", ".", "x.", "1.1."])
      expect(found(`__Host-toolgate_session=${other}${OWN}`), other).toBeUndefined();
  });

  it("rejects two session cookies", () => {
    expect(found(`__Host-toolgate_session=${OWN}; __Host-toolgate_session=${OTHER}`)).toBeUndefined();
  });

  // Browsers enforce the `__Host-` prefix only for exact names; a sibling host may set similar ones.
  it.each(["\u00A0", "\u000B", "\u000C", "\uFEFF", "\u0085", "\u2003", "__host-", "$"])(
    "ignores a cookie whose name starts with %j",
    (before) => {
      const name = before === "__host-" ? "__host-toolgate_session" : `${before}__Host-toolgate_session`;
      for (const bytes of [name, Buffer.from(name, "utf8").toString("latin1")]) {
        expect(found(`${bytes}=${OTHER}`)).toBeUndefined();
        expect(found(`__Host-toolgate_session=${OWN}; ${bytes}=${OTHER}`)).toBe(OWN);
      }
    },
  );
});
