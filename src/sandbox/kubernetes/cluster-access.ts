import type { KubeConfig } from "@kubernetes/client-node";
import { requirePackages } from "../../optional-packages.ts";
import { Cluster } from "./cluster.ts";
import type { KubernetesSection } from "./config.ts";

/** Loads the configured kubeconfig or the pod's service account only. @throws Error naming the setting */
export async function openCluster({ kubeconfig, context }: KubernetesSection): Promise<Cluster> {
  requirePackages("sandbox.kubernetes", ["@kubernetes/client-node"]);
  const library = await import("@kubernetes/client-node");
  const config = new library.KubeConfig();
  if (kubeconfig === undefined) config.loadFromCluster();
  else loadFile(config, kubeconfig);
  if (context !== undefined) config.setCurrentContext(context);
  return new Cluster(library, config, checkedServer(config, kubeconfig));
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

/** Returns the server's address. Tokens are sent only to verified servers, except on localhost. */
function checkedServer(config: KubeConfig, kubeconfig: string | undefined): URL {
  const where = kubeconfig === undefined ? "the pod's service account" : kubeconfig;
  const cluster = config.getCurrentCluster();
  const server = cluster === null ? null : URL.parse(cluster.server);
  if (cluster === null || server === null) {
    const advice =
      kubeconfig === undefined
        ? "outside of a cluster, name a file in sandbox.kubernetes.kubeconfig"
        : "its context names no cluster: see current-context, or set sandbox.kubernetes.context";
    throw new Error(`sandbox.kubernetes: ${where} names no API server; ${advice}`);
  }
  const local = ["127.0.0.1", "localhost", "[::1]"].includes(server.hostname);
  if (!local && (server.protocol !== "https:" || cluster.skipTLSVerify)) {
    throw new Error(
      `sandbox.kubernetes: ${where} does not verify the API server: it must be https:// without ` +
        "insecure-skip-tls-verify",
    );
  }
  return server;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
