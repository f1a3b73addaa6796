"""Insertion and deletion tests on pixels: networks, photos, saliency maps, walks  [appendix, image example]."""

from insdel.images.classifier import Classifier, Preprocessing
from insdel.images.photos import EMBEDDED, Photo, class_names, find_class, open_photo
from insdel.images.saliency import MAPS, TITLES, Saliency, Settings, saliency_map
from insdel.images.walk import REFERENCES, frames, measure, pixel_walk, reference_image, unit_abc, unit_auc
from insdel.images.weights import WeightsError, load

__all__ = [
    "EMBEDDED",
    "MAPS",
    "REFERENCES",
    "TITLES",
    "Classifier",
    "Photo",
    "Preprocessing",
    "Saliency",
    "Settings",
    "WeightsError",
    "class_names",
    "find_class",
    "frames",
    "load",
    "measure",
    "open_photo",
    "pixel_walk",
    "reference_image",
    "saliency_map",
    "unit_abc",
    "unit_auc",
]
