import { z } from "zod";
import { trustedClients, trustedIssuers } from "./oauth-settings.ts";
import { between, httpUrl, integer } from "./setting-types.ts";

/** Where the servers listen, and their addresses as callers see them. */
export const serverSettings = {
  HOST: z
    .string()
    .default("0.0.0.0")
    .meta({ description: "address that the servers listen on", unset: "`0.0.0.0`; `127.0.0.1` in dev" }),
  PORT: integer(0, 65535, 8080).describe("port of HTTP/JSON, MCP, Connect and gRPC-Web; 0 picks a free one"),
  GRPC_PORT: integer(0, 65535, 9090).describe("port of gRPC; 0 picks a free one"),
  METRICS_PORT: between(0, 65535)
    .optional()
    .describe("port of `GET /metrics` for Prometheus, without a key: keep it private; 0 picks a free one"),
  METRICS_HOST: z.string().default("127.0.0.1").describe("address that the metrics server listens on"),
  TLS_CERT: z
    .string()
    .optional()
    .describe("path of the PEM certificate, with its chain, of `PORT` and `GRPC_PORT`; read every 10 s"),
  TLS_KEY: z.string().optional().describe("path of its PEM key"),
  TLS_CLIENT_CA: z
    .string()
    .optional()
    .describe("path of PEM certificates: only clients with a certificate of these may connect"),
  PUBLIC_URL: httpUrl
    .optional()
    .meta({ description: "base address as callers see it", unset: "`http://HOST:PORT`" }),
  CONSOLE_URL: httpUrl
    .optional()
    .meta({ description: "address of the console", unset: "`PUBLIC_URL/console`" }),
  CONSOLE_PUBLIC_TOOLS: z
    .enum(["on", "off"])
    .default("off")
    .describe("`on`: `CONSOLE_URL/tools` shows everyone tools and prices"),
  OAUTH: z
    .enum(["on", "off"])
    .optional()
    .meta({
      description:
        "`on`: hosts that know only the address of `/mcp` [sign in](../guides/sign-in.md) with the " +
        "account holder's consent; needs `https://` addresses",
      unset: "`on` for https and loopback addresses without `CELL`",
    }),
  OAUTH_ISSUERS: trustedIssuers().meta({
    description:
      "JSON list of [issuers](../guides/sign-in.md#your-own-identity-provider) whose tokens are accepted",
    unset: "none",
  }),
  OAUTH_CLIENTS: trustedClients().meta({
    description: "JSON list of [clients](../guides/sign-in.md#your-own-identity-provider) without a person",
    unset: "none",
  }),
} as const;
