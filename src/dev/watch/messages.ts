import { z } from "zod";

/** Input of a gateway process from the supervisor, as its only argument. */
export const gatewayJob = z.object({
  dataDir: z.string(),
  /** Address of Vite's server. */
  viteUrl: z.string(),
  movable: z.array(z.enum(["PORT", "GRPC_PORT"])),
});
export type GatewayJob = z.output<typeof gatewayJob>;

export const endpoints = z.object({
  baseUrl: z.string(),
  consoleUrl: z.string(),
  grpcAddress: z.string(),
  metricsAddress: z.string().optional(),
  payTo: z.string(),
  usdcMint: z.string(),
});
export type Endpoints = z.output<typeof endpoints>;
