import { ConfigError, type ServeConfig } from "../config/config.ts";

export interface Addresses {
  /** `{base_url}` of the specification. */
  readonly baseUrl: string;
  readonly consoleUrl: string;
  /** host:port */
  readonly grpcAddress: string;
}

export type PortSetting = "PORT" | "GRPC_PORT" | "METRICS_PORT";

/** A server that can listen on a port. */
export interface Listener {
  /** @returns the port. @throws Error when it is unavailable */
  listen(host: string, port: number): Promise<number>;
}

/**
 * Listens on the configured port; on a free one when the port is taken and may move.
 * @returns the port
 * @throws ConfigError when the port is unavailable
 */
export async function listenOnPort(
  listener: Listener,
  config: ServeConfig,
  setting: PortSetting,
  movable: boolean,
): Promise<number> {
  const port = config[setting] ?? 0;
  const host = setting === "METRICS_PORT" ? config.METRICS_HOST : config.HOST;
  try {
    return await listener.listen(host, port);
  } catch (error) {
    // node:http and grpc-js report it differently, but both messages contain EADDRINUSE.
    const reason = error instanceof Error ? error.message : String(error);
    if (movable && reason.includes("EADDRINUSE")) return listener.listen(host, 0);
    throw new ConfigError([
      `${setting}: cannot listen on port ${port} (${reason}); set another port, or 0 for a free one`,
    ]);
  }
}

/** Returns the local host name for URLs of servers that listen on HOST (RFC 3986 section 3.2.2). */
export function hostInUrls(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
