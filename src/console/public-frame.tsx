import type { ReactNode } from "react";
import { Brand } from "./brand.tsx";
import { ButtonLink } from "./ui/index.ts";

/** Whether the operator shows the tools without a sign-in: the gateway marks the page then. */
export function arePublicToolsOn(): boolean {
  return document.querySelector('meta[name="toolgate-public-tools"]') !== null;
}

/** Whether strangers may see the page at this location. */
export function isPublicPath(location: string): boolean {
  return /^\/tools(?:\/|$)/.test(location);
}

/** The frame around the pages that strangers see. */
export function PublicFrame({ children }: { children: ReactNode }) {
  return (
    <div className="public">
      <a href="#content" className="skip">
        Skip to content
      </a>
      <header className="public-head">
        <Brand />
        <nav aria-label="Console">
          <ButtonLink small href="/tools">
            Tools
          </ButtonLink>
          <ButtonLink small tone="primary" href="/">
            Sign in
          </ButtonLink>
        </nav>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
