import http from "node:http";
import https, { type RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import type { KubernetesSection } from "./config.ts";

/** Where the API server is, and who asks it. */
export interface ClusterAccess {
  readonly server: URL;
  /** What one request needs to be believed: certificates and headers, tokens renewed when they are due. */
  requestOptions(): Promise<RequestOptions>;
  /** Ends the connections that are kept for the next request. */
  close(): void;
}

/**
 * Reads who the gateway is to the cluster: the kubeconfig that is named, or the service account of its own pod. Nothing else is looked for,
 * so that no developer's own access is ever used by chance. The client library is dear to import (about a second): only who configured a
 * cluster pays for it.
 * @throws Error that says what is wrong with it
 */
export async function openClusterAccess({ kubeconfig, context }: KubernetesSection): Promise<ClusterAccess> {
  const library = await import("@kubernetes/client-node");
  const config = new library.KubeConfig();
  if (kubeconfig === undefined) config.loadFromCluster();
  else loadFile(config, kubeconfig);
  if (context !== undefined) config.setCurrentContext(context);
  const server = checkedServer(config, kubeconfig);
  // The library would make a connection for each request; one through a proxy is left to it.
  const agent = new (server.protocol === "https:" ? https : http).Agent({ keepAlive: true });
  const direct = config.getCurrentCluster()?.proxyUrl === undefined;
  return {
    server,
    requestOptions: async () => {
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      return direct ? { ...options, agent } : options;
    },
    close: () => agent.destroy(),
  };
}

function loadFile(config: KubeConfig, path: string): void {
  try {
    config.loadFromFile(path);
  } catch (error) {
    throw new Error(
      `sandbox.kubernetes.kubeconfig: ${path} cannot be read as a kubeconfig: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** The server's address. A token is only ever sent to a server that proves who it is; on this machine alone it need not. */
function checkedServer(config: KubeConfig, kubeconfig: string | undefined): URL {
  const where = kubeconfig === undefined ? "the pod's service account" : kubeconfig;
  const cluster = config.getCurrentCluster();
  const server = cluster === null ? null : URL.parse(cluster.server);
  if (cluster === null || server === null) {
    const advice =
      kubeconfig === undefined
        ? "outside of a cluster, name a file in sandbox.kubernetes.kubeconfig"
        : "its context names no cluster: see current-context, or set sandbox.kubernetes.context";
    throw new Error(`sandbox.kubernetes: ${where} leads to no API server; ${advice}`);
  }
  const local = ["127.0.0.1", "localhost", "[::1]"].includes(server.hostname);
  if (!local && (server.protocol !== "https:" || cluster.skipTLSVerify)) {
    throw new Error(
      `sandbox.kubernetes: ${where} does not verify the API server: it must be https:// without insecure-skip-tls-verify`,
    );
  }
  return server;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
