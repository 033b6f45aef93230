// The colours of graphs as this reader wants them.
import { computed } from '@preact/signals';
import { PALETTES } from './palette';
import { dark, diffColours } from './settings';

export const colours = computed(() => PALETTES[diffColours.value][dark.value ? 'dark' : 'light']);
