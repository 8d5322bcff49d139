import { defineConfig } from 'vite';

/** The page is served below `/inspect/`, wherever that is: every address in it is relative. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // Also where the server runs with another NODE_ENV: the page is always the one of production.
  define: { 'process.env.NODE_ENV': '"production"' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // Inlined files would need exceptions from the page's security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
