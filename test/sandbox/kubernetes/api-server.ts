import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { refusalOf } from "./admission.ts";
import { type KubeObject, ObjectStore } from "./object-store.ts";
import { listen } from "../../support/servers.ts";

/** The only valid token. */
export const TOKEN = "the-gateway-s-own-token";

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Request attributes for the authorizer. */
interface Asked {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

export type Fault =
  | "drop"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object };

export interface LogSource {
  /** undefined: the container is waiting. */
  log(pod: string): AsyncIterable<Buffer> | undefined;
}

const ROUTES: readonly (readonly [RegExp, string, string])[] = [
  [/^\/apis\/batch\/v1\/namespaces\/([^/]+)\/(jobs)(?:\/([^/]+))?(?:\/([^/]+))?$/, "batch", "batch/v1"],
  [/^\/api\/v1\/namespaces\/([^/]+)\/(pods|secrets)(?:\/([^/]+))?(?:\/([^/]+))?$/, "", "v1"],
  [
    /^\/apis\/networking\.k8s\.io\/v1\/namespaces\/([^/]+)\/(networkpolicies)(?:\/([^/]+))?(?:\/([^/]+))?$/,
    "networking.k8s.io",
    "networking.k8s.io/v1",
  ],
  [
    /^\/apis\/node\.k8s\.io\/v1()\/(runtimeclasses)(?:\/([^/]+))?(?:\/([^/]+))?$/,
    "node.k8s.io",
    "node.k8s.io/v1",
  ],
  [/^\/api\/v1()\/(namespaces)(?:\/([^/]+))?(?:\/([^/]+))?$/, "", "v1"],
];

const LIST_KINDS: Readonly<Record<string, string>> = {
  jobs: "JobList",
  pods: "PodList",
  secrets: "SecretList",
  networkpolicies: "NetworkPolicyList",
};

/**
 * A Kubernetes API server for the requests of the engine: authentication, RBAC with the shipped Roles,
 * strict decoding, resource versions, watches with bookmarks and 410, graceful deletion, logs.
 */
export class FakeApiServer {
  readonly store = new ObjectStore();
  rules: readonly Rule[] = [];
  logs: LogSource = { log: () => undefined };
  /** Requests so far as "METHOD path". */
  readonly requests: string[] = [];
  readonly #faults: { readonly match: RegExp; readonly fault: Fault }[] = [];
  readonly #watches = new Set<ServerResponse>();
  #bookmarks: NodeJS.Timeout | undefined;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });

  async listen(): Promise<number> {
    this.#bookmarks = setInterval(() => this.#bookmark(), 100);
    return listen(this.#server);
  }

  async close(): Promise<void> {
    clearInterval(this.#bookmarks);
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  /** Fails the next requests that match "METHOD path?query". */
  fail(match: RegExp, fault: Fault, times = 1): void {
    for (let time = 0; time < times; time += 1) this.#faults.push({ match, fault });
  }

  cutWatches(): void {
    for (const watch of this.#watches) watch.destroy();
  }

  /** Ends all watches, as the server does periodically. */
  endWatches(): void {
    for (const watch of this.#watches) watch.end();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://cluster");
    const line = `${request.method} ${url.pathname}${url.search}`;
    this.requests.push(line);
    const body = await bodyOf(request);
    const at = this.#faults.findIndex(({ match }) => match.test(line));
    const fault = at < 0 ? undefined : this.#faults.splice(at, 1)[0]?.fault;
    if (typeof fault === "object")
      return send(
        response,
        fault.status,
        fault.body ?? statusObject(fault.status, "", "made trouble"),
        fault.headers,
      );
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return refuse(response, 401, "Unauthorized", "Unauthorized");
    if (fault === "drop") {
      await this.#route(request.method ?? "", url, body, new NowhereResponse() as unknown as ServerResponse);
      response.destroy();
      return;
    }
    await this.#route(request.method ?? "", url, body, response);
  }

  async #route(method: string, url: URL, body: unknown, response: ServerResponse): Promise<void> {
    if (url.pathname === "/version")
      return send(response, 200, { major: "1", minor: "34", gitVersion: "v1.34.1" });
    if (url.pathname === "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
      return this.#review(body, response);
    for (const [pattern, group] of ROUTES) {
      const found = pattern.exec(url.pathname);
      if (found === null) continue;
      const [, , resource = "", name = "", subresource = ""] = found;
      const collection = method === "GET" && name === "";
      const verb = collection
        ? url.searchParams.get("watch") === "true"
          ? "watch"
          : "list"
        : verbOf(method);
      const asked = { verb, group, resource, subresource, name };
      if (!this.#allowed(asked))
        return refuse(response, 403, "Forbidden", `${resource} "${name}" is forbidden: cannot ${verb}`);
      return this.#serve(asked, url, body, response);
    }
    refuse(response, 404, "NotFound", "the server could not find the requested resource");
  }

  async #serve(asked: Asked, url: URL, body: unknown, response: ServerResponse): Promise<void> {
    const { verb, resource, name, subresource } = asked;
    if (subresource === "log") return this.#log(name, url, response);
    switch (verb) {
      case "create":
        return this.#create(resource, url, body as KubeObject, response);
      case "list":
        return this.#list(resource, url, response);
      case "watch":
        return this.#watch(resource, url, response);
      case "delete":
        return this.#delete(resource, name, body, response);
      default: {
        const object = this.store.get(resource, name);
        if (object === undefined) return refuse(response, 404, "NotFound", `${resource} "${name}" not found`);
        return send(response, 200, object);
      }
    }
  }

  #create(resource: string, url: URL, object: KubeObject, response: ServerResponse): void {
    if (url.searchParams.get("fieldValidation") !== "Strict")
      return refuse(response, 400, "BadRequest", "test: strict decoding is expected");
    const refusal = refusalOf(resource, object);
    if (refusal !== undefined) return refuse(response, refusal.status, refusal.reason, refusal.message);
    const made = this.store.create(resource, object);
    if (made === undefined)
      return refuse(response, 409, "AlreadyExists", `${resource} "${object.metadata.name}" already exists`);
    send(response, 201, made);
  }

  #list(resource: string, url: URL, response: ServerResponse): void {
    const items = this.store.list(resource).filter((object) => selects(url, object));
    send(response, 200, {
      kind: LIST_KINDS[resource],
      apiVersion: "v1",
      metadata: { resourceVersion: String(this.store.version) },
      items,
    });
  }

  #watch(resource: string, url: URL, response: ServerResponse): void {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const event = (type: string, object: object) => response.write(`${JSON.stringify({ type, object })}\n`);
    const from = this.store.since(Number(url.searchParams.get("resourceVersion")));
    if (from === undefined) {
      event("ERROR", statusObject(410, "Expired", "too old resource version"));
      response.end();
      return;
    }
    const send = (change: { resource: string; type: string; object: KubeObject }) => {
      if (change.resource === resource && selects(url, change.object)) event(change.type, change.object);
    };
    for (const change of from) send(change);
    const stop = this.store.subscribe(send);
    const late = setTimeout(
      () => response.end(),
      Number(url.searchParams.get("timeoutSeconds") ?? 300) * 1_000,
    );
    this.#watches.add(response);
    response.once("close", () => {
      stop();
      clearTimeout(late);
      this.#watches.delete(response);
    });
  }

  /** The API writes absent members as null. */
  #bookmark(): void {
    const metadata = { resourceVersion: String(this.store.version), creationTimestamp: null };
    const object = { kind: "Pod", apiVersion: "v1", metadata, spec: { containers: null }, status: {} };
    for (const watch of this.#watches) watch.write(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
  }

  #delete(resource: string, name: string, body: unknown, response: ServerResponse): void {
    const object = this.store.get(resource, name);
    if (object === undefined) return refuse(response, 404, "NotFound", `${resource} "${name}" not found`);
    const { preconditions, propagationPolicy } = (body ?? {}) as {
      preconditions?: { uid?: string };
      propagationPolicy?: string;
    };
    const { uid } = object.metadata;
    if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
      return refuse(
        response,
        409,
        "Conflict",
        `the UID in the precondition (${preconditions.uid}) does not match`,
      );
    }
    this.store.remove(resource, name);
    // Without a propagation policy the pods of a deleted Job remain.
    if (propagationPolicy === "Background") this.#collect(uid);
    send(response, 200, {
      kind: "Status",
      apiVersion: "v1",
      status: "Success",
      details: { name, kind: resource, uid },
    });
  }

  /** Garbage collection: deletes dependents; pods terminate first. */
  #collect(uid: string): void {
    for (const resource of ["secrets", "pods"]) {
      for (const { metadata } of this.store.list(resource)) {
        if (!(metadata.ownerReferences ?? []).some((owner) => owner.uid === uid)) continue;
        if (resource === "pods") this.deletePod(metadata.name);
        else this.store.remove(resource, metadata.name);
      }
    }
  }

  /** Terminates a pod; its kubelet removes it. */
  deletePod(name: string): void {
    this.store.update("pods", name, (pod) => {
      pod.metadata.deletionTimestamp ??= new Date().toISOString();
    });
  }

  async #log(name: string, url: URL, response: ServerResponse): Promise<void> {
    if (this.store.get("pods", name) === undefined)
      return refuse(response, 404, "NotFound", `pods "${name}" not found`);
    const log = this.logs.log(name);
    const container = url.searchParams.get("container") ?? "";
    if (log === undefined) {
      return refuse(
        response,
        400,
        "BadRequest",
        `container "${container}" in pod "${name}" is waiting to start: ContainerCreating`,
      );
    }
    response.writeHead(200, { "content-type": "text/plain" });
    response.flushHeaders();
    for await (const chunk of log) {
      if (response.destroyed) return;
      response.write(chunk);
    }
    response.end();
  }

  #review(body: unknown, response: ServerResponse): void {
    const { spec } = body as { spec: { resourceAttributes: Partial<Asked> } };
    const asked = {
      verb: "",
      group: "",
      resource: "",
      subresource: "",
      name: "",
      ...spec.resourceAttributes,
    };
    send(response, 201, { ...(body as object), status: { allowed: this.#allowed(asked) } });
  }

  #allowed({ verb, group, resource, subresource, name }: Asked): boolean {
    const wanted = subresource === "" ? resource : `${resource}/${subresource}`;
    return this.rules.some(
      ({ apiGroups, resources, verbs, resourceNames }) =>
        apiGroups.includes(group) &&
        resources.includes(wanted) &&
        verbs.includes(verb) &&
        (resourceNames === undefined || resourceNames.includes(name)),
    );
  }
}

class NowhereResponse {
  writeHead(): this {
    return this;
  }
  end(): this {
    return this;
  }
}

function verbOf(method: string): string {
  return { GET: "get", POST: "create", DELETE: "delete", PUT: "update", PATCH: "patch" }[method] ?? method;
}

function selects(url: URL, object: KubeObject): boolean {
  const selector = url.searchParams.get("labelSelector") ?? "";
  const pairs = selector.split(",").filter((pair) => pair !== "");
  return pairs.every((pair) => {
    const [key = "", value] = pair.split("=");
    return object.metadata.labels?.[key] === value;
  });
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

function send(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function refuse(response: ServerResponse, code: number, reason: string, message: string): void {
  send(response, code, statusObject(code, reason, message));
}

function statusObject(code: number, reason: string, message: string): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}
