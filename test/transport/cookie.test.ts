import { describe, expect, it } from "vitest";
import { cookieFormOf, tokenFromCookie } from "../../src/transport/console-server/cookie.ts";

const form = cookieFormOf(new URL("https://gateway.example/console"));
const [OWN, OTHER] = ["o".repeat(43), "x".repeat(43)];

/** What is found in a Cookie header, which Node reads as Latin-1. */
const found = (cookie: string) =>
  form && tokenFromCookie(Buffer.from(cookie, "latin1").toString("latin1"), form);

describe("the session's cookie", () => {
  it("is found among others, however browsers set them apart", () => {
    for (const cookie of [
      `__Host-toolgate_session=${OWN}`,
      `a=1; __Host-toolgate_session=${OWN}; b=2`,
      `a=1;\t__Host-toolgate_session=${OWN} `,
      `a=1;__Host-toolgate_session=${OWN};`,
    ])
      expect(found(cookie), JSON.stringify(cookie)).toBe(OWN);
  });

  it("is none when there are two", () => {
    expect(found(`__Host-toolgate_session=${OWN}; __Host-toolgate_session=${OTHER}`)).toBeUndefined();
  });

  // A browser holds to the prefix what is named so, and lets any host of the site set what is named almost so.
  it.each(["\u00A0", "\u000B", "\u000C", "\uFEFF", "\u0085", "\u2003", "__host-", "$"])(
    "is not another one whose name begins with %j",
    (before) => {
      const name = before === "__host-" ? "__host-toolgate_session" : `${before}__Host-toolgate_session`;
      for (const bytes of [name, Buffer.from(name, "utf8").toString("latin1")]) {
        expect(found(`${bytes}=${OTHER}`)).toBeUndefined();
        expect(found(`__Host-toolgate_session=${OWN}; ${bytes}=${OTHER}`)).toBe(OWN);
      }
    },
  );
});
