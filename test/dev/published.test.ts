import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { publishedAt, withImage, withLinks } from "../../src/dev/release/published.ts";

const root = { repository: { type: "git", url: "git+https://github.com/someone/toolgate.git" } };
const KUSTOMIZATION = readFileSync("deploy/kubernetes/gateway/base/kustomization.yaml", "utf8");

it("takes repository, homepage and bugs of each package from one name", () => {
  expect(publishedAt(JSON.parse(readFileSync("package.json", "utf8"))).homepage).toMatch(
    /^https:\/\/github\.com\//,
  );
  const page = "https://github.com/someone/toolgate";
  expect(publishedAt(root, "src/client")).toEqual({
    repository: { ...root.repository, directory: "src/client" },
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
  });
  expect(publishedAt(root).repository).toEqual(root.repository);
  expect(withLinks("[a](<repository>/docs/a.md)", publishedAt(root), "1.2.3")).toBe(
    `[a](${page}/blob/v1.2.3/docs/a.md)`,
  );
});

it("refuses a repository that npm cannot prove", () => {
  for (const url of ["https://example.com/toolgate", "git+https://github.com/toolgate"])
    expect(() => publishedAt({ repository: { type: "git", url } })).toThrow();
});

it("writes the digest of an image into the manifests, and keeps the version's tag without one", () => {
  expect(withImage(KUSTOMIZATION, undefined)).toBe(KUSTOMIZATION);
  expect(KUSTOMIZATION).not.toContain("sha256:");
  const digest = `sha256:${"a1".repeat(32)}`;
  const images = withImage(KUSTOMIZATION, `ghcr.io/someone/toolgate@${digest}`).split("images:\n")[1];
  expect(images).toBe(
    `  - name: registry.example/toolgate\n    newName: ghcr.io/someone/toolgate\n    digest: ${digest}\n`,
  );
  expect(() => withImage(KUSTOMIZATION, "ghcr.io/someone/toolgate:1")).toThrow("NAME@sha256:DIGEST");
});
