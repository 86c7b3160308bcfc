import { randomUUID } from "node:crypto";

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [member: string]: unknown;
}

export interface Metadata {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: {
    uid: string;
    name: string;
    kind: string;
    apiVersion: string;
    [member: string]: unknown;
  }[];
  [member: string]: unknown;
}

export interface Change {
  readonly version: number;
  readonly resource: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
}

/** Objects with a common resource version, and a bounded history of changes. */
export class ObjectStore {
  readonly #objects = new Map<string, KubeObject>();
  #history: Change[] = [];
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #untold: Change[] = [];
  #notifying = false;
  #version = 1_000;
  /** Older versions return 410 Gone. */
  #oldest = 1_000;

  get version(): number {
    return this.#version;
  }

  get(resource: string, name: string): KubeObject | undefined {
    return this.#objects.get(`${resource}/${name}`);
  }

  list(resource: string): KubeObject[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${resource}/`)).map(([, object]) => object);
  }

  /** @returns undefined if the name exists */
  create(
    resource: string,
    object: Omit<KubeObject, "metadata"> & { metadata: Partial<Metadata> & { name: string } },
  ) {
    const key = `${resource}/${object.metadata.name}`;
    if (this.#objects.has(key)) return undefined;
    const made = structuredClone(object) as KubeObject;
    Object.assign(made.metadata, { uid: randomUUID(), creationTimestamp: rfc3339(new Date()) });
    return this.#put("ADDED", resource, key, made);
  }

  update(resource: string, name: string, change: (object: KubeObject) => void): void {
    const key = `${resource}/${name}`;
    const there = this.#objects.get(key);
    if (there === undefined) return;
    const next = structuredClone(there);
    change(next);
    this.#put("MODIFIED", resource, key, next);
  }

  remove(resource: string, name: string): void {
    const key = `${resource}/${name}`;
    const there = this.#objects.get(key);
    if (there === undefined) return;
    this.#objects.delete(key);
    this.#put("DELETED", resource, key, structuredClone(there), false);
  }

  /** Changes since a version; undefined if compacted (410 Gone). */
  since(version: number): Change[] | undefined {
    if (version < this.#oldest) return undefined;
    return this.#history.filter((change) => change.version > version);
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Compacts the history, as etcd does. */
  compact(): void {
    this.#history = [];
    this.#version += 1;
    this.#oldest = this.#version;
  }

  /** Delivers in order, even if a listener causes another change. */
  #notify(): void {
    if (this.#notifying) return;
    this.#notifying = true;
    for (let change = this.#untold.shift(); change !== undefined; change = this.#untold.shift()) {
      for (const listener of [...this.#listeners]) listener(change);
    }
    this.#notifying = false;
  }

  #put(type: Change["type"], resource: string, key: string, object: KubeObject, keep = true): KubeObject {
    this.#version += 1;
    object.metadata.resourceVersion = String(this.#version);
    if (keep) this.#objects.set(key, object);
    const change = { version: this.#version, resource, type, object: structuredClone(object) };
    this.#history.push(change);
    this.#untold.push(change);
    this.#notify();
    return object;
  }
}

/** API timestamps have whole seconds. */
function rfc3339(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}
