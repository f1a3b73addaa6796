"""Insertion and deletion tests on pixels: networks, photos, saliency maps, walks  [appendix, image example]."""

from insdel_paper.studies.images.network import Classifier, Preprocessing
from insdel_paper.studies.images.photos import EMBEDDED, Photo, class_names, find_class, open_photo
from insdel_paper.studies.images.saliency import MAPS, TITLES, Saliency, Settings, saliency_map
from insdel_paper.studies.images.walk import (
    REFERENCES,
    frames,
    measure,
    pictures_per_second,
    pixel_walk,
    reference_image,
    unit_abc,
    unit_auc,
)
from insdel_paper.studies.images.weights import WeightsError, load
