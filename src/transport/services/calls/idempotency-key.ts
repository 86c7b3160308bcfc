import { ToolgateError } from "../../../domain/core/errors.ts";

/** 1 to 255 printable ASCII characters, as in the body (toolgate.v1.CallToolRequest). */
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * Returns the idempotency key of the body, or of the Idempotency-Key header
 * (draft-ietf-httpapi-idempotency-key-header section 2.1).
 * @throws ToolgateError INVALID_REQUEST when the header is invalid or differs from the body
 */
export function idempotencyKeyOf(member: string | undefined, header: string | undefined): string | undefined {
  if (header === undefined) return member;
  if (!PRINTABLE.test(header))
    throw new ToolgateError(
      "INVALID_REQUEST",
      "Idempotency-Key: must be 1 to 255 printable ASCII characters",
    );
  if (member !== undefined && member !== header) {
    throw new ToolgateError(
      "INVALID_REQUEST",
      "idempotency_key: differs from the Idempotency-Key header; send one of them",
    );
  }
  return header;
}
