import { expect } from "vitest";
import { ERRORS } from "../../src/domain/core/errors.ts";

export interface TextAnswer {
  status: number;
  headers: { get(name: string): string | null | undefined };
  body: string;
}

/**
 * Statuses that are documented and no fault of the caller's; none of them is expected without a fault
 * (docs/reference/errors.md).
 */
const DOCUMENTED = new Set<number>([
  200,
  202,
  408,
  431,
  ...Object.values(ERRORS).map(({ status }) => status),
]);

/** Every request gets a documented status below 500, and an error the error body with the request's id. */
export function expectWellBehaved({ status, headers, body }: TextAnswer): void {
  expect(status, body).toBeLessThan(500);
  expect(DOCUMENTED, body).toContain(status);
  const requestId = headers.get("x-request-id");
  expect(requestId).toMatch(/^req_[0-9a-f]{32}$/);
  if (body === "") return;
  expect(headers.get("content-type")).toBe("application/json");
  const json: unknown = JSON.parse(body);
  expectWellFormed(json);
  if (status < 400 || isJsonRpcError(json)) return;
  expect(json).toMatchObject({
    code: expect.any(String),
    message: expect.stringMatching(/./),
    request_id: requestId,
  });
}

/** A refusal: well-behaved, and nothing was done. */
export function expectRefused(answer: TextAnswer): void {
  expectWellBehaved(answer);
  expect(answer.status, answer.body).toBeGreaterThanOrEqual(400);
}

/**
 * Strict readers (RFC 8259 section 8.2) fail on lone surrogates, so what we wrote ourselves must not have
 * any.
 */
function expectWellFormed(json: unknown): void {
  if (typeof json === "string") expect(json.isWellFormed(), JSON.stringify(json)).toBe(true);
  else if (typeof json === "object" && json !== null)
    for (const entry of Object.entries(json)) entry.forEach(expectWellFormed);
}

function isJsonRpcError(json: unknown): boolean {
  return typeof json === "object" && json !== null && "jsonrpc" in json && "error" in json;
}
