import { describe, expect, it } from "vitest";
import { rawResponse, parseError } from "../../../src/transport/http/parse-error.ts";

describe("a malformed request", () => {
  it.each([
    ["HPE_HEADER_OVERFLOW", 431, "PAYLOAD_TOO_LARGE"],
    ["ERR_HTTP_REQUEST_TIMEOUT", 408, "INVALID_REQUEST"],
    ["HPE_INVALID_METHOD", 400, "INVALID_REQUEST"],
    [undefined, 400, "INVALID_REQUEST"],
  ])("maps Node's code %s to %i %s", (nodeCode, status, code) => {
    expect(parseError(nodeCode)).toMatchObject({ status, code });
  });

  it("sends Content-Length in bytes and closes the connection", () => {
    const text = rawResponse([["x-request-id", "req_1"]], {
      status: 408,
      json: { message: "é" },
      headers: [["allow", "GET"]],
    });
    expect(text.split("\r\n")).toEqual([
      "HTTP/1.1 408 Request Timeout",
      "x-request-id: req_1",
      "allow: GET",
      "content-type: application/json",
      "connection: close",
      "content-length: 16",
      "",
      '{"message":"é"}',
    ]);
  });
});
