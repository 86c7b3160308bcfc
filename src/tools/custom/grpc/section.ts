import type { Target } from "../settings.ts";

/** What the operator wrote of a gRPC method. */
export type GrpcSection = Extract<Target, { kind: "grpc" }>["section"];
