import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import './search.css';
import { nextTick, onMounted, watch } from 'vue';

/** Draws the diagrams of a page; the library is loaded only where there is one. */
async function drawDiagrams(): Promise<void> {
  const nodes = [...document.querySelectorAll<HTMLElement>('pre.mermaid:not([data-processed])')];
  if (nodes.length === 0) return;
  const { default: mermaid } = await import('mermaid');
  const isDark = document.documentElement.classList.contains('dark');
  mermaid.initialize({
    startOnLoad: false,
    theme: isDark ? 'dark' : 'neutral',
    // Narrower than by default: a diagram that is wider than the page is scaled down.
    sequence: { width: 120, actorMargin: 20 },
  });
  await mermaid.run({ nodes });
}

// VitePress takes its theme from the default export.
// oxlint-disable-next-line import/no-default-export
export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute();
    onMounted(() => void drawDiagrams());
    watch(
      () => route.path,
      () => void nextTick(drawDiagrams),
    );
  },
};
