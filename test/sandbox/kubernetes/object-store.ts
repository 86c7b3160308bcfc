import { randomUUID } from "node:crypto";

/** An object of the cluster, as its API has it. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [member: string]: unknown;
}

/** What every object has. */
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

/** A change, as a watch tells it. */
export interface Change {
  readonly version: number;
  readonly resource: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
}

/** The objects of a cluster with one counter of versions over all of them, and the changes that are remembered. */
export class ObjectStore {
  readonly #objects = new Map<string, KubeObject>();
  #history: Change[] = [];
  readonly #hearers = new Set<(change: Change) => void>();
  readonly #untold: Change[] = [];
  #telling = false;
  #version = 1_000;
  /** Watches from versions before this one are refused. */
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

  /** @returns undefined when there is one of that name */
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

  /** Changes an object that is there; nothing when it is gone. */
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

  /** The changes after a version; undefined when they are no longer remembered (410 Gone). */
  since(version: number): Change[] | undefined {
    if (version < this.#oldest) return undefined;
    return this.#history.filter((change) => change.version > version);
  }

  hear(hearer: (change: Change) => void): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  /** Forgets the changes so far, as etcd's compaction does. */
  compact(): void {
    this.#history = [];
    this.#version += 1;
    this.#oldest = this.#version;
  }

  /** In order for everybody, also when hearing of one change makes another. */
  #tell(): void {
    if (this.#telling) return;
    this.#telling = true;
    for (let change = this.#untold.shift(); change !== undefined; change = this.#untold.shift()) {
      for (const hearer of [...this.#hearers]) hearer(change);
    }
    this.#telling = false;
  }

  #put(type: Change["type"], resource: string, key: string, object: KubeObject, keep = true): KubeObject {
    this.#version += 1;
    object.metadata.resourceVersion = String(this.#version);
    if (keep) this.#objects.set(key, object);
    const change = { version: this.#version, resource, type, object: structuredClone(object) };
    this.#history.push(change);
    this.#untold.push(change);
    this.#tell();
    return object;
  }
}

/** Times of the API have no fractions of a second. */
function rfc3339(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}
