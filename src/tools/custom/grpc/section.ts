import type { Target } from "../settings.ts";

export type GrpcSection = Extract<Target, { kind: "grpc" }>["section"];
