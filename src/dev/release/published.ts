import { z } from "zod";

const repository = z.string().regex(/^git\+https:\/\/github\.com\/[\w.-]+\/[\w.-]+\.git$/);
const manifest = z.object({ repository: z.object({ type: z.literal("git"), url: repository }) });

/** Where the project is published, as the members of a manifest. npm proves the origin by `repository`. */
interface Published {
  readonly repository: { readonly type: "git"; readonly url: string; readonly directory?: string };
  readonly homepage: string;
  readonly bugs: { readonly url: string };
}

/**
 * Returns it from `repository` of package.json: the one place of the owner's name.
 * @param directory of the package in the repository; the root by default
 */
export function publishedAt(root: unknown, directory?: string): Published {
  const { url } = manifest.parse(root).repository;
  const page = url.slice("git+".length, -".git".length);
  return {
    repository: { type: "git", url, ...(directory !== undefined && { directory }) },
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
  };
}

/** Makes links of a page absolute: `<repository>` is the files of this version. */
export function withLinks(text: string, { bugs }: Published, version: string): string {
  return text.replaceAll("<repository>", bugs.url.replace(/\/issues$/, `/blob/v${version}`));
}

/**
 * Writes the image into the `images` of a kustomization.
 * @param image NAME@sha256:…; undefined keeps the name and the version's tag
 * @throws Error when it has no digest
 */
export function withImage(kustomization: string, image: string | undefined): string {
  if (image === undefined) return kustomization;
  const [, name, digest] = /^([^\s@]+)@(sha256:[0-9a-f]{64})$/.exec(image) ?? [];
  if (name === undefined || digest === undefined) throw new Error("IMAGE: must be NAME@sha256:DIGEST");
  return kustomization
    .replace(/^( +newName:) .*$/m, (_, member: string) => `${member} ${name}`)
    .replace(/^( +)newTag: .*$/m, (_, before: string) => `${before}digest: ${digest}`);
}
