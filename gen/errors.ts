// Generated from toolgate/v1/api.proto. Do not edit.

/** The error catalogue: HTTP status and gRPC status code of each code. */
export const ERRORS = {
  INVALID_REQUEST: { status: 400, rpc: "INVALID_ARGUMENT" },
  UNAUTHORIZED: { status: 401, rpc: "UNAUTHENTICATED" },
  PAYMENT_REQUIRED: { status: 402, rpc: "FAILED_PRECONDITION" },
  QUOTE_EXPIRED: { status: 402, rpc: "FAILED_PRECONDITION" },
  INVALID_PAYMENT: { status: 402, rpc: "FAILED_PRECONDITION" },
  FORBIDDEN: { status: 403, rpc: "PERMISSION_DENIED" },
  NOT_FOUND: { status: 404, rpc: "NOT_FOUND" },
  TOOL_NOT_FOUND: { status: 404, rpc: "NOT_FOUND" },
  TOOL_UNAVAILABLE: { status: 404, rpc: "UNIMPLEMENTED" },
  METHOD_NOT_ALLOWED: { status: 405, rpc: "UNIMPLEMENTED" },
  REQUEST_IN_PROGRESS: { status: 409, rpc: "ABORTED" },
  PAYLOAD_TOO_LARGE: { status: 413, rpc: "RESOURCE_EXHAUSTED" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, rpc: "INVALID_ARGUMENT" },
  IDEMPOTENCY_MISMATCH: { status: 422, rpc: "INVALID_ARGUMENT" },
  RATE_LIMITED: { status: 429, rpc: "RESOURCE_EXHAUSTED" },
  CANCELLED: { status: 499, rpc: "CANCELLED" },
  INTERNAL: { status: 500, rpc: "INTERNAL" },
  TOOL_FAILED: { status: 500, rpc: "INTERNAL" },
  PAYMENT_PENDING: { status: 503, rpc: "UNAVAILABLE" },
  UNAVAILABLE: { status: 503, rpc: "UNAVAILABLE" },
} as const;
