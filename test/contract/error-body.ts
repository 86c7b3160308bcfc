import { expect } from "vitest";
import type { ErrorCode } from "../../src/domain/core/errors.ts";
import type { Answer } from "../support/world.ts";

/** Every error body has exactly these members (specification 7) and agrees with its headers. */
export function expectError(answer: Answer, status: number, code: ErrorCode, message = /./): void {
  expect(answer.body).toEqual({
    code,
    message: expect.stringMatching(message),
    request_id: expect.stringMatching(/^req_[0-9a-f]{32}$/),
    ...("retry_after_seconds" in answer.body && {
      retry_after_seconds: Number(answer.headers.get("retry-after")),
    }),
    ...("limit" in answer.body && { limit: expect.any(Object) }),
  });
  expect(answer.body.request_id).toBe(answer.headers.get("x-request-id"));
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/json");
}
