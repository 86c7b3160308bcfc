import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClientProvider } from "@tanstack/react-query";
import { Suspense, type ReactNode } from "react";
import { Route, Router, Switch, useLocation } from "wouter";
import { isAlone } from "./alone.ts";
import { Frame } from "./frame.tsx";
import { lazyComponent } from "./lazy-component.ts";
import { PageErrorBoundary } from "./page-error-boundary.tsx";
import { ROUTES } from "./routes.ts";
import { queryClient, transport } from "./rpc.ts";
import { SignedInProvider, useSessionQuery } from "./session.tsx";
import { SignInFrame, Brand } from "./sign-in-frame.tsx";
import { ButtonLink, EmptyState, ErrorNote, Page, Skeleton, Toasts } from "./ui/index.ts";
import { WalletProvider } from "./wallet/wallet-provider.tsx";

/** Loaded without a session only. */
const SignInPage = lazyComponent(() => import("./pages/sign-in.tsx"), "SignInPage");

/** The console: the sign-in page, or the pages of the signed-in account. */
export function App() {
  return (
    <TransportProvider transport={transport}>
      <QueryClientProvider client={queryClient}>
        <Router base="/console">
          <WalletProvider>
            <SessionContent />
          </WalletProvider>
          <Toasts />
        </Router>
      </QueryClientProvider>
    </TransportProvider>
  );
}

function SessionContent() {
  const { data, error, refetch } = useSessionQuery();
  const [location] = useLocation();
  const guarded = (page: ReactNode, fallback: ReactNode) => (
    <PageErrorBoundary location={location}>
      <Suspense fallback={fallback}>{page}</Suspense>
    </PageErrorBoundary>
  );
  if (data?.session && data.installation) {
    return (
      <SignedInProvider value={{ session: data.session, installation: data.installation }}>
        {isAlone(location) ? (
          <main className="connect">
            <Brand />
            {guarded(<Pages />, <PageLoading />)}
          </main>
        ) : (
          <Frame>{guarded(<Pages />, <PageLoading />)}</Frame>
        )}
      </SignedInProvider>
    );
  }
  if (data && arePublicToolsOn() && isPublicPath(location))
    return <PublicFrame>{guarded(<Pages />, <PageLoading />)}</PublicFrame>;
  if (data) return guarded(<SignInPage />, <SignInFrame />);
  return (
    <main className="alone">
      {error ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={4} height={20} />
      )}
    </main>
  );
}

function Pages() {
  return (
    <Switch>
      {ROUTES.map(({ path, page }) => (
        <Route key={path} path={path} component={page} />
      ))}
      <Route component={NotFoundPage} />
    </Switch>
  );
}

function PageLoading() {
  return (
    <div className="page">
      <Skeleton lines={6} height={20} />
    </div>
  );
}

function NotFoundPage() {
  return (
    <Page title="Page not found">
      <EmptyState
        title="There is no page at this address"
        action={<ButtonLink href="/">Go to the overview</ButtonLink>}
      >
        It may have moved, or the address may be mistyped.
      </EmptyState>
    </Page>
  );
}

/** Whether the operator shows the tools without a sign-in: the gateway marks the page then. */
function arePublicToolsOn(): boolean {
  return document.querySelector('meta[name="toolgate-public-tools"]') !== null;
}

/** Whether strangers may see the page at this location. */
function isPublicPath(location: string): boolean {
  return /^\/tools(?:\/|$)/.test(location);
}

/** The frame around the pages that strangers see. */
function PublicFrame({ children }: { children: ReactNode }) {
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
