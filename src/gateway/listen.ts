import { ConfigError, type ServeConfig } from "../config/config.ts";

/** The doors' settings. */
export type PortSetting = "PORT" | "GRPC_PORT" | "METRICS_PORT";

/** What listens on a port. */
export interface Listener {
  /** @returns the port. @throws Error when it cannot be had */
  listen(host: string, port: number): Promise<number>;
}

/**
 * Opens a door on its port, or, where it may move and the port is taken, on a free one.
 * @returns the port
 * @throws ConfigError when the port cannot be had
 */
export async function listenOnPort(
  door: Listener,
  config: ServeConfig,
  setting: PortSetting,
  movable: boolean,
): Promise<number> {
  const port = config[setting] ?? 0;
  try {
    return await door.listen(config.HOST, port);
  } catch (error) {
    // The two servers tell it in different ways, but both in these letters.
    const reason = error instanceof Error ? error.message : String(error);
    if (movable && reason.includes("EADDRINUSE")) return door.listen(config.HOST, 0);
    throw new ConfigError([
      `${setting}: cannot listen on port ${port} (${reason}); set another port, or 0 for a free one`,
    ]);
  }
}

/** The name under which this machine reaches doors that listen on HOST, as URLs have it (RFC 3986 section 3.2.2). */
export function hostInUrls(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
