import { expect, it } from "vitest";
import { hostInUrls } from "../../src/gateway/listen.ts";

it.each([
  ["127.0.0.1", "http://127.0.0.1:8080/"],
  ["gateway.internal", "http://gateway.internal:8080/"],
  ["0.0.0.0", "http://127.0.0.1:8080/"],
  ["::", "http://127.0.0.1:8080/"],
  ["::1", "http://[::1]:8080/"],
  ["fd00::12", "http://[fd00::12]:8080/"],
])("servers listening on %s have the URL host %s", (host, url) => {
  expect(new URL(`http://${hostInUrls(host)}:8080`).href).toBe(url);
});
